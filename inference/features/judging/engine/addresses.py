"""URLs of comparisons, and redirects from the former URLs of features that are views now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode

from inference.features.running.runs.kind_presentation import RunOutcome
from inference.models import Run

QueryValue = str | int | list[str] | None
"""Value of a field in a query; None leaves the field out, a list repeats it."""
View = Callable[[HttpRequest], HttpResponse]


def comparisons_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: its comparison} of the finished runs."""
    done = [run for run in runs if run.result]
    return {run.pk: RunOutcome(run.result["name"], comparison_address(run.pk)) for run in done}


def redirecting_to_list(kind: str) -> View:
    def redirect_to_list(request: HttpRequest) -> HttpResponse:
        query = urlencode({**request.GET.dict(), "kind": kind})
        return redirect(f"{reverse('comparisons')}?{query}")

    return redirect_to_list


def redirecting_to_comparison(kind: str, **view: str) -> Callable[..., HttpResponse]:
    """A view that redirects to a run's comparison; 404 for runs of other kinds."""

    def redirect_to_comparison(request: HttpRequest, pk: int) -> HttpResponse:
        run = get_object_or_404(Run.objects.only("pk"), pk=pk, kind=kind)
        return redirect(comparison_address(run.pk, **view))

    return redirect_to_comparison


def comparison_address(run: int, **view: str | int) -> str:
    """The URL of a run's comparison; `view`: fields of its query."""
    query = urlencode(view)
    return reverse("comparison", args=[run]) + (f"?{query}" if query else "")


def limit_query(metric: str, threshold: float) -> dict[str, str | int]:
    """The query fields that say when two sources disagree."""
    return {"metric": metric, "threshold": round(100 * threshold)}


def pair_query(first: int, second: int, metric: str, threshold: float) -> dict[str, str | int]:
    """The query of the view of items that distinguish two sources; place 0 is the reference, columns
    follow."""
    reference, column = sorted((first, second))
    against = {"against": reference - 1} if reference else {}
    return {"view": "telling", **limit_query(metric, threshold), "column": column - 1, **against}


def redirecting_to_form(
    fields: Callable[[HttpRequest], Mapping[str, QueryValue]],
) -> Callable[[HttpRequest], HttpResponse]:
    """A view that redirects to the form for a comparison; `fields`: its query, from the former page's
    request."""

    def form(request: HttpRequest) -> HttpResponse:
        query = {name: value for name, value in fields(request).items() if value is not None}
        return redirect(f"{reverse('comparison-new')}?{urlencode(query, doseq=True)}")

    return form
