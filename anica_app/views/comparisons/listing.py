"""All comparisons, and where the runs that make them lead to."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse

from anica_app.campaigning.comparison_config import KIND
from anica_app.views.runs_of_kind import newest_runs
from inference.features.runs.outcome import Outcome
from inference.models import Run


def comparisons(request: HttpRequest) -> HttpResponse:
    """All of them, newest first."""
    context = newest_runs(request, KIND, "config", "note")
    rows = [(run, _best(run)) for run in context["page"].rows]
    return render(request, "anica/comparisons.html", {**context, "rows": rows})


def _best(run: Run) -> tuple[str, float] | None:
    """The predictor with the smallest error in cycles, and that error."""
    scores = [one for one in run.result.get("scores", ()) if one["mape"] is not None]
    best = min(scores, key=lambda one: one["mape"], default=None)
    return None if best is None else (best["name"], best["mape"])


def comparisons_of(runs: Sequence[Run]) -> dict[int, Outcome]:
    """The comparisons of these runs."""
    done = [run for run in runs if run.result]
    return {run.pk: Outcome(run.result["name"], reverse("comparison", args=[run.pk])) for run in done}


urlpatterns = [path("comparisons/", comparisons, name="comparisons")]
