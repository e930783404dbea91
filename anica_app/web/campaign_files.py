"""Campaigns and what came with them as files that a browser stores."""

from __future__ import annotations

import io
import tempfile
import zlib

from django.http import FileResponse
from django.utils.text import slugify

from anica_app.models import Campaign, CampaignFile
from anica_app.storage.campaigns import write_campaign

_IN_MEMORY = 8 << 20  # bytes; a larger archive is written to a temporary file


def archive_answer(row: Campaign) -> FileResponse:
    """A campaign with all that it has sampled, as an archive that another installation imports."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  the answer closes it
    write_campaign(row, file)  # type: ignore[arg-type]
    file.seek(0)
    name = f"{slugify(row.name) or 'campaign'}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def kept_file_answer(row: CampaignFile) -> FileResponse:
    """A file that came with an imported campaign, or that its run has kept, as it was."""
    content = io.BytesIO(zlib.decompress(bytes(row.content)))
    name = row.path.rpartition("/")[2]
    return FileResponse(content, as_attachment=True, filename=name, content_type="application/octet-stream")
