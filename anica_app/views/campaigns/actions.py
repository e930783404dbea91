"""What a user does with a campaign: take it away as a file, name and note, delete."""

from __future__ import annotations

import io
import tempfile
import zlib

from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.text import slugify

from anica_app.exchange.campaign_zip import write_campaign
from anica_app.models import Campaign, CampaignFile
from anica_app.queries.discovery_table import discoveries_csv
from inference.web.naming import delete_page, edit_page
from inference.web.requests import file_answer

_IN_MEMORY = 8 << 20  # bytes; a larger archive is written to a temporary file


def campaign_export(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The campaign with all that it has sampled, as a zip archive that another installation reads."""
    row = get_object_or_404(Campaign, pk=pk)
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  the answer closes it
    write_campaign(row, file)  # type: ignore[arg-type]
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=f"{slugify(row.name) or 'campaign'}.zip")


def campaign_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """Its discoveries as a table."""
    row = get_object_or_404(Campaign, pk=pk)
    return file_answer(discoveries_csv(row), "text/csv", f"{row.name} discoveries", "csv")


def campaign_file(request: HttpRequest, pk: int, file: int) -> HttpResponseBase:
    """A file that came with an imported campaign, or that its run has kept, as it was."""
    row = get_object_or_404(CampaignFile, pk=file, campaign=pk)
    content = io.BytesIO(zlib.decompress(bytes(row.content)))
    name = row.path.rpartition("/")[2]
    return FileResponse(content, as_attachment=True, filename=name, content_type="application/octet-stream")


def campaign_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Name and note of a campaign."""
    return edit_page(request, get_object_or_404(Campaign, pk=pk), "campaign", "campaigns")


def campaign_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a campaign, after saying what goes with it."""
    return delete_page(request, get_object_or_404(Campaign, pk=pk), "campaign", "campaigns")


urlpatterns = [
    path("campaigns/<int:pk>/export/", campaign_export, name="campaign-export"),
    path("campaigns/<int:pk>/discoveries.csv", campaign_csv, name="campaign-csv"),
    path("campaigns/<int:pk>/files/<int:file>/", campaign_file, name="campaign-file"),
    path("campaigns/<int:pk>/edit/", campaign_edit, name="campaign-edit"),
    path("campaigns/<int:pk>/delete/", campaign_delete, name="campaign-delete"),
]
