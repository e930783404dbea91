"""The list of port mappings with their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse

from inference.features.library.mappings.query import MAPPING_COLUMNS, port_mappings
from inference.models import Evaluation, ExperimentSet, PortMapping, ResourceMapping
from inference.web.paging import Order, page_of
from inference.web.requests import whole_number


@dataclass(frozen=True)
class ListedMapping:
    """A mapping of a list with the evaluation shown for it."""

    mapping: PortMapping | ResourceMapping
    evaluation: Evaluation | None

    @property
    def source(self) -> str:
        """What the evaluation is on, in words."""
        return source_label(self.evaluation) if self.evaluation else ""

    @property
    def url(self) -> str:
        """The evaluation's heat map."""
        return evaluation_url(self.evaluation) if self.evaluation else ""


def source_label(evaluation: Evaluation) -> str:
    """The set's name, or of which run the share is that it kept from training."""
    if evaluation.experiment_set is not None:
        return evaluation.experiment_set.name
    run = evaluation.held_out_by
    return "held out" if run is None else f"held out by {run.name}"


def evaluated_on(evaluation: Evaluation) -> tuple[int | None, int | None]:
    """What two evaluations have to have in common for their scores to be comparable."""
    return evaluation.experiment_set_id, evaluation.held_out_by_id


def evaluation_url(evaluation: Evaluation) -> str:
    """The address of the evaluation's heat map."""
    if evaluation.mapping_id is None:
        page = reverse("resource-mapping", args=[evaluation.resource_mapping_id])
    else:
        page = reverse("mapping", args=[evaluation.mapping_id])
    source = evaluation.experiment_set_id or "held-out"
    return f"{page}?tab=accuracy&set={source}&unit={evaluation.unit}"


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
