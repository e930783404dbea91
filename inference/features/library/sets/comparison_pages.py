"""Two experiment sets side by side: repeatability, by length and scheme, and the experiments that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.core.residuals import SchemeError
from inference.features.library.sets.comparing import (
    CSV_WRITERS,
    TOLERANCES,
    SetReport,
    comparison_head,
)
from inference.features.library.sets.comparison_query import (
    RepeatedExperiment,
    comparable_sets,
    comparing_run,
    pairs_of,
    report_at_hand,
    two_sets,
)
from inference.features.running.runs.kind_presentation import RunOutcome
from inference.formats.errors import ExchangeError
from inference.isa.search import SearchError
from inference.models import ExperimentSet, Run
from inference.models.scheme_search import texts_found
from inference.runs.errors import RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.rows import ids_of_schemes
from inference.web.file_answers import file_answer
from inference.web.paging import Order, page_in_memory
from inference.web.validation import chosen_bin, one_of, row_numbers, whole_number

_WITHIN = 5.0
_CHOSEN_FROM = 500  # sets that the page offers; others are compared by their numbers in the address
COLUMNS: dict[str, Callable[[SchemeError], Any]] = {
    "text": lambda row: row.scheme,
    "n": lambda row: row.n,
    "signed": lambda row: row.signed,
    "absolute": lambda row: row.absolute,
}


@dataclass(frozen=True)
class ComparisonBin:
    """The experiments in one bin of the heat map, the worst first, and its bounds in words."""

    pairs: list[RepeatedExperiment]
    total: int
    first: str
    second: str


def sets_compare(request: HttpRequest) -> HttpResponse:
    """The choice of two sets, and how they compare."""
    first, second = whole_number(request, "first"), whole_number(request, "second")
    chosen = _found(first)
    offered = ExperimentSet.objects.defer("summary", "making", "identity").order_by("-id")
    context: dict[str, Any] = {
        "first": chosen,
        "sets": list(offered.only("pk", "name")[:_CHOSEN_FROM]),
        "others": list(comparable_sets(chosen).only("pk", "name")[:_CHOSEN_FROM]) if chosen else [],
        "start_url": reverse("sets-compare-start"),
    }
    if chosen is None or second is None or all(each.pk != second for each in context["others"]):
        if second is not None:
            _found(second)
        return render(request, "inference/sets/compare.html", context)
    here, there = two_sets(chosen.pk, second)
    context |= {"first": here, "second": there, "related": urlencode({"first": here.pk, "second": there.pk})}
    report = report_at_hand(here, there)
    if report is None:
        context["waiting"] = comparing_run(here, there)
        return render(request, "inference/sets/compare.html", context)
    return _shown(request, here, there, report, context)


def _shown(
    request: HttpRequest,
    here: ExperimentSet,
    there: ExperimentSet,
    report: SetReport,
    context: dict[str, Any],
) -> HttpResponse:
    within = float(one_of(request, "within", tuple(f"{each:g}" for each in TOLERANCES), f"{_WITHIN:g}"))
    found = _bin(request, here, there, report)
    context |= {
        "report": report,
        "within": within,
        "tolerances": [(f"{each:g}", each == within) for each in TOLERANCES],
        "share": report.share(within),
        "lengths": [(each, each.share(within)) for each in report.lengths],
        "heat_map": {"figure": _figure(report, here, there)},
        "bin": found,
        "worst": [] if found else pairs_of(here, there, report.listing.worst),
        **_schemes(request, here, report),
    }
    status = 400 if context.get("schemes_error") else 200
    return render(request, "inference/sets/compare.html", context, status=status)


def _found(pk: int | None) -> ExperimentSet | None:
    if pk is None:
        return None
    found = ExperimentSet.objects.select_related("isa").filter(pk=pk).first()
    if found is None:
        raise Http404(f"there is no experiment set with the number {pk}")
    return found


def _figure(report: SetReport, here: ExperimentSet, there: ExperimentSet) -> dict[str, Any]:
    """The heat map with the sets on its axes."""
    figure = report.heat_map.figure()
    figure["layout"]["xaxis"]["title"] = {"text": f"{_short(here.name)} (cycles)"}
    figure["layout"]["yaxis"]["title"] = {"text": f"{_short(there.name)} (cycles)"}
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def _bin(
    request: HttpRequest, here: ExperimentSet, there: ExperimentSet, report: SetReport
) -> ComparisonBin | None:
    place = chosen_bin(request, report.heat_map.bins)
    if place is None:
        return None
    return ComparisonBin(
        pairs_of(here, there, report.listing.bins.get(place, ())),
        report.heat_map.counts[place[0]][place[1]],
        first=report.heat_map.bounds(place[1]),
        second=report.heat_map.bounds(place[0]),
    )


def _schemes(request: HttpRequest, here: ExperimentSet, report: SetReport) -> dict[str, Any]:
    """The table of schemes: searched, sorted, a page of it."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, "-absolute")
    context: dict[str, Any] = {"q": q, "sort": str(order), "scheme_count": len(report.schemes)}
    rows: Sequence[SchemeError] = report.schemes
    if q:
        try:
            texts = texts_found(here.isa_id, q)
        except SearchError as error:
            return {**context, "schemes_error": str(error)}
        rows = [each for each in rows if each.scheme in texts]
    ordered = sorted(rows, key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(ordered, whole_number(request, "page", 0) or 0)
    ids = ids_of_schemes(here.isa_id, (each.scheme for each in page.rows))
    return {**context, "page": page, "schemes": [(each, ids.get(each.scheme)) for each in page.rows]}


@require_POST
def sets_compare_start(request: HttpRequest) -> HttpResponse:
    """Start the run that compares two large sets, and go back to where its result will be."""
    ids = row_numbers(request.POST.get(name, "") for name in ("first", "second"))
    if len(ids) < 2:
        raise BadRequest("first and second must be the numbers of two experiment sets")
    first, second = map(_found, ids)
    assert first is not None, "a number was given"
    assert second is not None, "a number was given"
    config = {"first": first.pk, "second": second.pk}
    if comparing_run(first, second) is None:
        try:
            submit(
                "compare-sets",
                config,
                unused_name(f"Compare {first.name} and {second.name}"[:180]),
                user=request.user,
            )
        except (ExchangeError, RunsError) as error:
            messages.error(request, f"Nothing was started: {error}")
    return redirect(f"{reverse('sets-compare')}?{urlencode(config)}")


def sets_compare_csv(request: HttpRequest) -> HttpResponse:
    """A table of the comparison as a file: `by` is schemes or lengths."""
    by = one_of(request, "by", tuple(CSV_WRITERS), "schemes")
    first, second = (_found(whole_number(request, name)) for name in ("first", "second"))
    if first is None or second is None:
        raise BadRequest("first and second must be the numbers of two experiment sets")
    try:
        report = report_at_hand(first, second)
    except ExchangeError as error:
        raise BadRequest(str(error)) from error
    if report is None:
        raise BadRequest(f"{first.name} and {second.name} are not compared yet: their page has the button")
    text = CSV_WRITERS[by](report, comparison_head(first, second))
    return file_answer(text, "text/csv", f"{first.name} and {second.name} by {by}", "csv")


def comparisons_of(runs: Iterable[Run]) -> dict[int, RunOutcome]:
    """Of runs that compared two sets, as long as both are there."""
    shown = [run for run in runs if run.result]
    wanted = {run.result.get(field) for run in shown for field in ("first", "second")} - {None}
    names = dict(ExperimentSet.objects.filter(pk__in=wanted).values_list("pk", "name"))
    found = {}
    for run in shown:
        ids = {field: run.result.get(field) for field in ("first", "second")}
        if all(pk in names for pk in ids.values()):
            name = " and ".join(names[pk] for pk in ids.values())
            share = run.result.get("within_5")
            note = "" if share is None else f"{share:.1f} % within 5 % of each other"
            found[run.pk] = RunOutcome(name, f"{reverse('sets-compare')}?{urlencode(ids)}", note)
    return found


urlpatterns = [
    path("sets/compare/", sets_compare, name="sets-compare"),
    path("sets/compare/start/", sets_compare_start, name="sets-compare-start"),
    path("sets/compare.csv", sets_compare_csv, name="sets-compare-csv"),
]
