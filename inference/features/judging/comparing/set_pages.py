"""Two experiment sets side by side: which, what both have measured, and the views of their comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.features.judging.comparing.sets import (
    OF_FORMER_FILES,
    SET_ROWS,
    ComparedSets,
    compared_sets,
    comparing_run,
)
from inference.features.judging.comparing.tables import head_of_pair
from inference.features.judging.engine.addresses import comparison_address
from inference.features.judging.engine.request import COMPARE_SETS
from inference.features.judging.engine.view_addresses import HEAT_MAP
from inference.features.judging.engine.view_tabs import view_csv, views_context
from inference.features.judging.engine.views import VIEWS
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.errors import ExchangeError
from inference.models import ExperimentSet, Run
from inference.web.file_answers import file_answer
from inference.web.request_fields import NOTHING_STARTED, start_or_tell
from inference.web.validation import as_whole_number, one_of, whole_number

_OFFERED = 500  # sets that the page offers; others are compared by their numbers in the address


def sets_compare(request: HttpRequest) -> HttpResponse:
    """The choice of two sets, and the views of their comparison."""
    first, second = (_set(whole_number(request, name)) for name in ("first", "second"))
    others: QuerySet[ExperimentSet] | None = None
    if first is not None:
        others = ExperimentSet.objects.filter(isa=first.isa_id).exclude(pk=first.pk)
        second = second if second is not None and others.filter(pk=second.pk).exists() else None
    context: dict[str, Any] = {
        "first": first,
        "second": second if first else None,
        "sets": _choices(ExperimentSet.objects.all()),
        "others": [] if others is None else _choices(others),
        "start_url": reverse("sets-compare-start"),
    }
    if first is None or second is None:
        return render(request, "inference/comparing/sets.html", context)
    compared = compared_sets(first, second)
    if compared is None:
        context["waiting"] = comparing_run(first, second)
    elif compared.n:
        context |= {"facts": facts_of(compared), **views_context(request, compared.row, HEAT_MAP)}
    else:
        context["only"] = compared.only
    status = 400 if "filter_error" in context else 200
    return render(request, "inference/comparing/sets.html", context, status=status)


def facts_of(compared: ComparedSets) -> Sequence[tuple[str, str]]:
    """What sums the comparison up."""
    agreement, close = compared.agreement, compared.closeness
    assert close is not None, "something is in both"
    pearson = agreement.scores.pearson
    return (
        ("In both", f"{compared.n:,}"),
        ("Within 5 %", f"{close.share(5.0):.2f} %"),
        ("Median difference", f"{agreement.median:.2f} %"),
        ("Mean difference", f"{agreement.scores.mape:.2f} %"),
        ("Pearson's r", "–" if pearson is None else f"{pearson:.4f}"),
        ("Only in the first", f"{compared.only[0]:,}"),
        ("Only in the second", f"{compared.only[1]:,}"),
    )


def _choices(rows: QuerySet[ExperimentSet]) -> list[tuple[int, str]]:
    return list(rows.order_by("-id").values_list("pk", "name")[:_OFFERED])


def _set(pk: int | None) -> ExperimentSet | None:
    return None if pk is None else get_object_or_404(SET_ROWS, pk=pk)


@require_POST
def sets_compare_start(request: HttpRequest) -> HttpResponse:
    """Start the run that compares two large sets, and go back to where its result will be."""
    config = {name: as_whole_number(request.POST.get(name, ""), name) for name in ("first", "second")}
    first, second = (get_object_or_404(SET_ROWS, pk=pk) for pk in config.values())
    if comparing_run(first, second) is None:
        title = f"Compare {first.name} and {second.name}"[:180]
        start_or_tell(request, COMPARE_SETS, config, title, lead=NOTHING_STARTED)
    return redirect(f"{reverse('sets-compare')}?{urlencode(config)}")


def sets_compare_csv(request: HttpRequest) -> HttpResponse:
    """A view of the comparison as a file; `by` is schemes or lengths in older addresses."""
    by = one_of(request, "by", tuple(OF_FORMER_FILES), "schemes")
    name = one_of(request, "view", tuple(VIEWS), OF_FORMER_FILES[by])
    first, second = (_set(whole_number(request, name)) for name in ("first", "second"))
    if first is None or second is None:
        raise BadRequest("first and second must be the numbers of two experiment sets")
    try:
        compared = compared_sets(first, second)
    except ExchangeError as error:
        raise BadRequest(str(error)) from error
    if compared is None:
        raise BadRequest(f"{first.name} and {second.name} are not compared yet: their page has the button")
    text = view_csv(request, compared.row, name, head_of_pair(first, second))
    return file_answer(text, "text/csv", f"{first.name} and {second.name} by {name}", "csv")


def outcomes_of_pairs(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The comparisons that runs have stored; of runs of earlier versions, where they are made anew."""
    outcomes = {}
    for run in runs:
        if run.result:
            query = urlencode({name: run.result[name] for name in ("first", "second")})
            is_stored = "comparison" in run.result
            address = comparison_address(run.pk) if is_stored else f"{reverse('sets-compare')}?{query}"
            share = run.result.get("within_5")
            note = "" if share is None else f"{share:.1f} % within 5 % of each other"
            outcomes[run.pk] = RunOutcome(run.result["name"], address, note)
    return outcomes


urlpatterns = [
    path("sets/compare/", sets_compare, name="sets-compare"),
    path("sets/compare/start/", sets_compare_start, name="sets-compare-start"),
    path("sets/compare.csv", sets_compare_csv, name="sets-compare-csv"),
]
