"""Pages of port mappings: the list, and each mapping with the tab of its address, files and name."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.core.mapping import PortMapping as Mapping
from inference.features.library.mappings.graph import graph_tab
from inference.features.library.mappings.query import MAPPING_COLUMNS, MappingSubject, port_mappings
from inference.features.library.mappings.schemes_tab import schemes_tab
from inference.models import Evaluation, ExperimentSet, PortMapping
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.mappings import load_mapping
from inference.web.contributions import MenuPlace, PagePanel, PanelPlace, entries_of, rendered_panels, tabs_of
from inference.web.file_answers import export_path, exports_for
from inference.web.listed_mappings import best_score, listed_mappings
from inference.web.naming import naming_paths
from inference.web.paging import Page, list_page
from inference.web.validation import number_parameter

Context = dict[str, Any]
ROWS = PortMapping.objects.select_related("isa", "run", "machine__isa")


def mapping(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(ROWS.all(), pk=pk)
    subject = MappingSubject(row, load_mapping(row))
    context = {
        "mapping": row,
        "facts": _facts(row, subject.value),
        "best": best_score(row),
        "below": rendered_panels(request, PanelPlace.BELOW_MAPPING, subject),
        "exports": exports_for(MAPPING_EXPORTS, row.isa.name).items(),
        "offers": entries_of(MenuPlace.MAPPING, row),
        **tabs_of(request, PanelPlace.MAPPING, subject, "graph"),
    }
    return render(
        request, "inference/mappings/mapping.html", context, status=400 if context.get("error") else 200
    )


def _facts(row: PortMapping, value: Mapping) -> Context:
    return {
        "schemes": len(value.usage),
        "ports": len(value.ports),
        "uop_kinds": value.uop_kinds,
        "volume": value.volume,
        "classes": len(row.report.get("congruence_classes", ())),
    }


def comparison_key(evaluation: Evaluation) -> tuple[int | None, int | None]:
    """Equal for evaluations whose scores can be compared: same set, same experiments held out."""
    return evaluation.experiment_set_id, evaluation.held_out_by_id


def mappings(request: HttpRequest) -> HttpResponse:
    """Lists mappings, filtered by name or note, with their accuracy on one set, else by the newest
    evaluation.
    """
    on = number_parameter(request, "on")

    def context(page: Page[Any]) -> dict[str, Any]:
        rows = listed_mappings(page.rows)
        sources = {comparison_key(row.evaluation) for row in rows if row.evaluation}
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

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "graph",
        "Graph",
        "inference/mappings/graph.html",
        lambda request, subject: graph_tab(request, subject.row, subject.value),
        scripts=("js/graph.js",),
    ),
    PagePanel(
        PanelPlace.MAPPING,
        "schemes",
        "Schemes",
        "inference/mappings/schemes.html",
        lambda request, subject: schemes_tab(request, subject.row, subject.value),
        order=20,
    ),
)
