"""Port mappings: the list, and the page of each with the tab that its address names, its files and name."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.mapping import PortMapping as Mapping
from inference.features.library.mappings.query import MAPPING_COLUMNS, ShownMapping, port_mappings
from inference.models import Evaluation, ExperimentSet, PortMapping
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.rows import load_mapping
from inference.web.contributions import MenuPlace, PanelPlace, entries_of, shown_panels, tabs_of
from inference.web.file_answers import export_path, exports_for
from inference.web.listed_mappings import best_score, listed_mappings
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.validation import whole_number

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


def evaluated_on(evaluation: Evaluation) -> tuple[int | None, int | None]:
    """What two evaluations have to have in common for their scores to be comparable."""
    return evaluation.experiment_set_id, evaluation.held_out_by_id


def mappings(request: HttpRequest) -> HttpResponse:
    """All mappings, filtered by name or note, with their accuracy on one set, else their newest."""
    on = whole_number(request, "on")

    def context(page: Page[Any]) -> dict[str, Any]:
        newest = Evaluation.objects.select_related("experiment_set", "held_out_by").defer("heat_map")
        rows = listed_mappings(page.rows, newest)
        sources = {evaluated_on(row.evaluation) for row in rows if row.evaluation}
        return {
            "rows": rows,
            "on": on,
            "on_several": len(sources) > 1,
            "sets": ExperimentSet.objects.filter(evaluations__isnull=False).distinct().order_by("name"),
        }

    return list_page(
        request,
        "inference/mappings/list.html",
        lambda text: port_mappings(text, on),
        MAPPING_COLUMNS,
        "-created",
        context,
    )


urlpatterns = [
    path("mappings/<int:pk>/", mapping, name="mapping"),
    export_path(ROWS, "mapping", "mappings", MAPPING_EXPORTS),
    *naming_paths(PortMapping, "mapping", "mappings"),
    path("mappings/", mappings, name="mappings"),
]
