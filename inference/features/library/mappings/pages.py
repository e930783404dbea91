"""A mapping's page with the tab that its address names, and its export, name, note and deletion."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.mapping import PortMapping as Mapping
from inference.features.library.mappings import listing
from inference.features.library.mappings.query import ShownMapping
from inference.formats.errors import ExchangeError
from inference.models import PortMapping
from inference.storage.evaluations import evaluations_of
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.rows import load_mapping
from inference.web.file_answers import file_answer
from inference.web.listed_mappings import evaluation_url, source_label
from inference.web.menus import MenuPlace, entries_of
from inference.web.naming import naming_paths
from inference.web.panels import PanelPlace, panels_of, shown_panels
from inference.web.requests import one_of

Context = dict[str, Any]


def mapping(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(PortMapping.objects.select_related("isa", "run", "machine"), pk=pk)
    subject = ShownMapping(found, load_mapping(found))
    tabs = {panel.name: panel for panel in panels_of(PanelPlace.MAPPING, subject)}
    tab = tabs[one_of(request, "tab", tuple(tabs), "graph")]
    best = evaluations_of(found).filter(unit="cycles").first()
    context = {
        "mapping": found,
        "facts": _facts(found, subject.value),
        "best": None if best is None else (best.mape, source_label(best), evaluation_url(best)),
        "tab": tab.name,
        "tabs": tabs.values(),
        "panel": tab,
        "below": shown_panels(request, PanelPlace.BELOW_MAPPING, subject),
        "exports": [(name, each) for name, each in MAPPING_EXPORTS.items() if each.describes(found.isa.name)],
        "offers": entries_of(MenuPlace.MAPPING, found),
        **(tab.context(request, subject) or {}),
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


def mapping_export(request: HttpRequest, pk: int) -> HttpResponse:
    """The mapping as a file, in the product's own JSON or in `?format=`."""
    row = get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)
    known = {key: export for key, export in MAPPING_EXPORTS.items() if export.describes(row.isa.name)}
    key = one_of(request, "format", tuple(known), next(iter(known)))
    try:
        text = known[key].write(row)
    except ExchangeError as error:
        messages.error(request, f"Nothing was exported: {error}")
        return redirect("mapping", row.pk)
    return file_answer(text, known[key].content_type, row.name, known[key].extension)


urlpatterns = [
    path("mappings/<int:pk>/", mapping, name="mapping"),
    path("mappings/<int:pk>/export/", mapping_export, name="mapping-export"),
    *naming_paths(PortMapping, "mapping", "mappings"),
    *listing.urlpatterns,
]
