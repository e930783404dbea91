"""A mapping's page with the tab that its address names, and its export, name, note and deletion."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.mapping import PortMapping as Mapping
from inference.features.library.mappings import listing
from inference.features.library.mappings.query import ShownMapping
from inference.models import PortMapping
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.mappings import load_mapping
from inference.web.export_page import export_path, exports_for
from inference.web.listed_mappings import best_score
from inference.web.menus import MenuPlace, entries_of
from inference.web.naming import naming_paths
from inference.web.panels import PanelPlace, shown_panels, tabs_of

Context = dict[str, Any]
ROWS = PortMapping.objects.select_related("isa", "run", "machine")


def mapping(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(ROWS.all(), pk=pk)
    subject = ShownMapping(found, load_mapping(found))
    context = {
        "mapping": found,
        "facts": _facts(found, subject.value),
        "best": best_score(found),
        "below": shown_panels(request, PanelPlace.BELOW_MAPPING, subject),
        "exports": exports_for(MAPPING_EXPORTS, found.isa.name).items(),
        "offers": entries_of(MenuPlace.MAPPING, found),
        **tabs_of(request, PanelPlace.MAPPING, subject, "graph"),
    }
    return render(
        request, "inference/mappings/mapping.html", context, status=400 if context.get("error") else 200
    )


def _facts(found: PortMapping, value: Mapping) -> Context:
    return {
        "schemes": len(value.usage),
        "ports": len(value.ports),
        "uop_kinds": value.uop_kinds,
        "volume": value.volume,
        "classes": len(found.report.get("congruence_classes", ())),
    }


urlpatterns = [
    path("mappings/<int:pk>/", mapping, name="mapping"),
    export_path(ROWS, "mapping", "mappings", MAPPING_EXPORTS),
    *naming_paths(PortMapping, "mapping", "mappings"),
    *listing.urlpatterns,
]
