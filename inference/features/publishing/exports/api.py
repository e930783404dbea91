"""API for publishing static sites."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from inference.features.publishing.site.request import PublishRequest
from inference.features.publishing.site.static_site import build_site, zip_files
from inference.web.api import access
from inference.web.api.access import AuditAction, read_access
from inference.web.api.document import FILE
from inference.web.file_answers import attachment

router = Router()


@router.post("/published-sites", response=bytes, auth=read_access, openapi_extra={FILE: "application/zip"})
def publish_site(request: HttpRequest, data: PublishRequest) -> HttpResponse:
    """A static site as a zip: the page of one item, or a gallery of several, for any web host.

    It needs no server and opens from a disk. This site stores nothing.
    """
    selection = data.chosen
    title, files = build_site(selection, data.title, data.text)
    for item in selection:
        access.log_action(request, AuditAction.EXPORTED, item.row)
    return attachment(zip_files(files), "application/zip", title, "zip")
