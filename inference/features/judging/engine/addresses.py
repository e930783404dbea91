"""Where comparisons are shown, and what leads there: former addresses of features that are views by now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode

from inference.features.running.runs.kind_presentation import RunOutcome
from inference.models import Run

QueryValue = str | int | list[str] | None
"""Of a field in an address; None leaves it out, several repeat it."""
View = Callable[[HttpRequest], HttpResponse]


def comparisons_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The comparisons of these runs."""
    done = [run for run in runs if run.result]
    return {run.pk: RunOutcome(run.result["name"], comparison_address(run.pk)) for run in done}


def to_list(kind: str) -> View:
    """The comparisons that runs of a kind have made."""

    def listed(request: HttpRequest) -> HttpResponse:
        query = urlencode({**request.GET.dict(), "kind": kind})
        return redirect(f"{reverse('comparisons')}?{query}")

    return listed


def to_comparison(kind: str, **view: str) -> Callable[..., HttpResponse]:
    """The comparison of a run of a kind, in a view; 404 for runs of other kinds."""

    def shown(request: HttpRequest, pk: int) -> HttpResponse:
        run = get_object_or_404(Run.objects.only("pk"), pk=pk, kind=kind)
        return redirect(comparison_address(run.pk, **view))

    return shown


def comparison_address(run: int, **view: str | int) -> str:
    """The address of a run's comparison; `view`: fields of its query."""
    query = urlencode(view)
    return reverse("comparison", args=[run]) + (f"?{query}" if query else "")


def limit_query(metric: str, threshold: float) -> dict[str, str | int]:
    """When two sources disagree, as an address of a comparison has it."""
    return {"metric": metric, "threshold": round(100 * threshold)}


def pair_query(first: int, second: int, metric: str, threshold: float) -> dict[str, str | int]:
    """The items that tell two sources apart; place 0 is the comparison's own reference, columns follow."""
    reference, column = sorted((first, second))
    against = {"against": reference - 1} if reference else {}
    return {"view": "telling", **limit_query(metric, threshold), "column": column - 1, **against}


def to_form(
    fields: Callable[[HttpRequest], Mapping[str, QueryValue]],
) -> Callable[[HttpRequest], HttpResponse]:
    """The form for a comparison; `fields`: its query, from an address of the former page."""

    def form(request: HttpRequest) -> HttpResponse:
        query = {name: value for name, value in fields(request).items() if value is not None}
        return redirect(f"{reverse('comparison-new')}?{urlencode(query, doseq=True)}")

    return form
