"""An uploaded file belongs to one run at a time, and what it says is stored once."""

from __future__ import annotations

from inference.models import Run, Upload
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError, JobError


def free_upload(pk: object) -> Upload:
    """The file with this id, without its content. Raises `ConfigError` where it is being imported."""
    return _checked(read_row(Upload.objects.select_related("run").defer("content"), "upload", pk, _TITLE))


def claim_upload(run: Run) -> None:
    """From now on the file shows which run imports it; raises `ConfigError` where another one does.

    To be called in the transaction that submits the run.
    """
    rows = Upload.objects.select_for_update(of=("self",)).defer("content")
    upload = _checked(read_row(rows, "upload", run.config["upload"], _TITLE))
    Upload.objects.filter(pk=upload.pk).update(run=run)


def discard_upload(upload: Upload) -> None:
    """Delete a file before what it says is stored. Raises `JobError` where another run was faster."""
    if not Upload.objects.filter(pk=upload.pk).delete()[0]:
        raise JobError(f"{upload.file_name} has been imported meanwhile, by another run")


_TITLE = "uploaded file"


def _checked(upload: Upload) -> Upload:
    if upload.run is not None and upload.run.state not in Run.FINAL:
        raise ConfigError(f"{upload.file_name} is being imported already, by the run {upload.run.name!r}")
    return upload
