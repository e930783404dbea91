"""The list of port mappings with their accuracy."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from inference.features.library.mappings.query import MAPPING_COLUMNS, port_mappings
from inference.models import Evaluation, ExperimentSet
from inference.web.list_page import list_page
from inference.web.listed_mappings import listed_mappings
from inference.web.paging import Page
from inference.web.requests import whole_number


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


urlpatterns = [path("mappings/", mappings, name="mappings")]
