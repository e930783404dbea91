"""Publishing for programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from inference.features.publishing.site.request import PublishRequest
from inference.features.publishing.site.static_site import published, zipped
from inference.web.api import access
from inference.web.api.access import Deed, reading
from inference.web.api.document import FILE
from inference.web.file_answers import attachment

router = Router()


@router.post("/published-sites", response=bytes, auth=reading, openapi_extra={FILE: "application/zip"})
def publish_site(request: HttpRequest, data: PublishRequest) -> HttpResponse:
    """A static site as a zip: the page of one thing, or a gallery of several, for any web host.

    It needs no server and opens from a disk. Nothing is kept here.
    """
    chosen = data.chosen
    title, files = published(chosen, data.title, data.text)
    for item in chosen:
        access.note(request, Deed.EXPORTED, item.row)
    return attachment(zipped(files), "application/zip", title, "zip")
