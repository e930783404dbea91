"""Resource mappings: the list, the page of each, and conversions of port mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.resources.query import ResourceMappingSubject
    from inference.web.contributions import Context


def _loads(request: HttpRequest, subject: ResourceMappingSubject) -> Context:
    from inference.features.library.resources.loads_tab import loads_tab  # noqa: PLC0415  pages load it

    return loads_tab(request, subject.row, subject.value)


PANELS = (PagePanel(PanelPlace.RESOURCE_MAPPING, "loads", "Loads", "inference/resources/loads.html", _loads),)
