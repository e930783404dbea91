"""Comparisons of predictors: the list, and the page of each with its scores, maps and biases."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.features.judging.engine.query import comparison_rows
from inference.features.judging.engine.request import ALL_KINDS
from inference.features.judging.engine.result_tables import result_tables
from inference.features.judging.engine.tables import page_cells
from inference.features.judging.engine.view_addresses import VIEW_NAMES
from inference.features.judging.engine.view_tabs import views_context
from inference.features.running.runs.query import newest_runs
from inference.models import Run
from inference.web.requests import one_of


def comparisons(request: HttpRequest) -> HttpResponse:
    """All of them, or those that runs of a `kind` have made, newest first."""
    kind = one_of(request, "kind", ("", *ALL_KINDS), "")
    context = newest_runs(request, kind or ALL_KINDS, "config", "note")
    rows = [(run, _best(run)) for run in context["page"].rows]
    return render(request, "inference/engine/list.html", {**context, "kind": kind, "rows": rows})


def _best(run: Run) -> tuple[str, float] | None:
    """The predictor with the smallest error in cycles, and that error."""
    scores = [one for one in run.result.get("scores", ()) if one["mape"] is not None]
    best = min(scores, key=lambda one: one["mape"], default=None)
    return None if best is None else (best["name"], best["mape"])


def comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """One comparison, by the number of its run: its views once it is done."""
    one_of(request, "tab", tuple(VIEW_NAMES))
    run = get_object_or_404(Run, pk=pk, kind__in=ALL_KINDS)
    row = comparison_rows().filter(run=run).first()
    context: dict[str, Any] = {"run": run, "working": run.state not in Run.FINAL}
    if row is None:
        context["earlier"] = list(map(page_cells, result_tables(run.result)))
        return render(request, "inference/engine/comparison.html", context)
    context |= views_context(request, row, "scores")
    context["columns_asked"] = [column for column in context["columns"] if column.predictor is not None]
    status = 400 if "filter_error" in context else 200
    return render(request, "inference/engine/comparison.html", context, status=status)


urlpatterns = [
    path("comparisons/", comparisons, name="comparisons"),
    path("comparisons/<int:pk>/", comparison, name="comparison"),
]
