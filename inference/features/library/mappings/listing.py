"""The list of port mappings with their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from inference.features.library.mappings.query import MAPPING_COLUMNS, port_mappings
from inference.models import Evaluation, ExperimentSet, PortMapping
from inference.web.listed_mappings import ListedMapping
from inference.web.paging import Order, page_of
from inference.web.requests import whole_number


def evaluated_on(evaluation: Evaluation) -> tuple[int | None, int | None]:
    """What two evaluations have to have in common for their scores to be comparable."""
    return evaluation.experiment_set_id, evaluation.held_out_by_id


def mappings(request: HttpRequest) -> HttpResponse:
    """All mappings, filtered by name or note, with their accuracy on one set, else their newest."""
    q = request.GET.get("q", "").strip()
    on = whole_number(request, "on")
    order = Order.read(request.GET.get("sort", ""), MAPPING_COLUMNS, "-created")
    page = page_of(port_mappings(q, on), order, MAPPING_COLUMNS, request.GET.get("page", ""))
    shown = Evaluation.objects.select_related("experiment_set", "held_out_by").defer("heat_map")
    rows: Sequence[Any] = page.rows  # with their `evaluation_id`
    evaluations = shown.in_bulk([row.evaluation_id for row in rows if row.evaluation_id])
    return render(
        request,
        "inference/mappings/list.html",
        {
            "page": page,
            "rows": [ListedMapping(row, evaluations.get(row.evaluation_id)) for row in rows],
            "q": q,
            "on": on,
            "sort": str(order),
            "on_several": len({evaluated_on(each) for each in evaluations.values()}) > 1,
            "sets": ExperimentSet.objects.filter(evaluations__isnull=False).distinct().order_by("name"),
            "any_mapping": bool(page.rows) or PortMapping.objects.exists(),
        },
    )


urlpatterns = [path("mappings/", mappings, name="mappings")]
