"""Pages that compare two experiment sets, in the views of comparisons, and sets of latencies, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from inference.features.judging.comparing.latencies import (
    COLUMNS,
    DEFAULT_ORDER,
    MAX_SETS,
    SharedScheme,
    comparison_of_latencies,
    filtered_schemes,
    limits_table,
    pairs_table,
)
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
from inference.features.judging.engine.tables import csv_of, page_cells
from inference.features.judging.engine.view_addresses import HEAT_MAP
from inference.features.judging.engine.view_tabs import view_csv, views_context
from inference.features.judging.engine.views import VIEWS
from inference.features.running.runs.kind_presentation import KindPresentation, RunOutcome
from inference.formats.problems import ExchangeError
from inference.isa.search import SearchError
from inference.models import ExperimentSet, LatencySet, Run
from inference.web.file_answers import file_answer, table_answer
from inference.web.paging import Order, page_in_memory
from inference.web.request_fields import NOT_STARTED, start_run
from inference.web.validation import choice_parameter, number_parameter, parse_int

_MAX_OFFERED = 500  # sets that the page offers; others can be given by id in the address
_FIELDS = ("first", "second", "also")  # parameters with row ids of sets
LATENCY_SETS = LatencySet.objects.select_related("isa", "machine").defer("memory", "connectors", "readings")
ORDERS = ((DEFAULT_ORDER, "largest differences first"), ("scheme", "by scheme"))
RowT = TypeVar("RowT", ExperimentSet, LatencySet)


def _rows_of_address(request: HttpRequest, among: QuerySet[RowT]) -> list[RowT]:
    """The rows whose ids the address has, in their order."""
    numbers = [parse_int(text, name) for name in _FIELDS for text in request.GET.getlist(name) if text]
    return [get_object_or_404(among, pk=pk) for pk in numbers]


def _chosen_rows(
    request: HttpRequest, among: QuerySet[RowT], limit: int
) -> tuple[RowT | None, list[RowT], dict[str, Any]]:
    """(first row, rows compared with it, context of the form that chooses them).

    Rows of another instruction set than the first one are dropped: the first one may have been changed.
    """
    rows = _rows_of_address(request, among)
    first = rows[0] if request.GET.get("first") else None
    offered = among.model._default_manager.only("name", "isa").order_by("-id")
    candidates = list(offered.filter(isa=first.isa_id).exclude(pk=first.pk)[:_MAX_OFFERED]) if first else []
    same_isa = [row for row in rows if first is not None and row.isa_id == first.isa_id and row != first]
    beside: list[RowT] = list(dict.fromkeys(same_isa))[: limit - 1]
    fields: list[RowT | None] = list(beside)
    if len(beside) < min(len(candidates), limit - 1):
        fields.append(None)
    choices = []
    for number, row_id in enumerate(fields):
        name, label = ("also", "And") if number else ("second", "Second set")
        options = [row for row in candidates if row == row_id or row not in beside]
        choices.append((f"beside-{number}", name, label, options, row_id))
    context = {"first": first, "sets": offered[:_MAX_OFFERED], "others": candidates, "choices": choices}
    return first, beside, context


def sets_compare(request: HttpRequest) -> HttpResponse:
    template = "inference/comparing/sets.html"
    first, beside, context = _chosen_rows(request, SET_ROWS, 2)
    if first is None or not beside:
        return render(request, template, context)
    (second,) = beside
    context |= {"second": second, "start_url": reverse("sets-compare-start")}
    compared = compared_sets(first, second)
    if compared is None:
        context["waiting"] = comparing_run(first, second)
    elif compared.n:
        context |= {"facts": comparison_facts(compared), **views_context(request, compared.row, HEAT_MAP)}
    else:
        context["only"] = compared.only
    return render(request, template, context, status=400 if "filter_error" in context else 200)


def comparison_facts(compared: ComparedSets) -> Sequence[tuple[str, str]]:
    """(label, text) of the numbers that summarise the comparison."""
    agreement, close = compared.agreement, compared.closeness
    assert close is not None, "the sets have common experiments"
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


@require_POST
def sets_compare_start(request: HttpRequest) -> HttpResponse:
    """Start the run that compares two large sets, and redirect to the page with its result."""
    config = {name: parse_int(request.POST.get(name, ""), name) for name in ("first", "second")}
    first, second = (get_object_or_404(SET_ROWS, pk=pk) for pk in config.values())
    if comparing_run(first, second) is None:
        start_run(request, COMPARE_SETS, config, lead=NOT_STARTED)
    return redirect(f"{reverse('sets-compare')}?{urlencode(config)}")


def sets_compare_csv(request: HttpRequest) -> HttpResponse:
    """A view of the comparison as CSV; older addresses have `by`, schemes or lengths."""
    by = choice_parameter(request, "by", tuple(OF_FORMER_FILES), "schemes")
    name = choice_parameter(request, "view", tuple(VIEWS), OF_FORMER_FILES[by])
    rows = _rows_of_address(request, SET_ROWS)
    if len(rows) != 2:
        raise BadRequest("first and second must be the numbers of two experiment sets")
    first, second = rows
    try:
        compared = compared_sets(first, second)
    except ExchangeError as error:
        raise BadRequest(str(error)) from error
    if compared is None:
        raise BadRequest(f"{first.name} and {second.name} are not compared yet: start that on their page")
    text = view_csv(request, compared.row, name, head_of_pair(first, second))
    return file_answer(text, "text/csv", f"{first.name} and {second.name} by {name}", "csv")


def outcomes_of_pairs(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """{run id: its stored comparison}; for runs of earlier versions, the page that computes it."""
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


def latencies_compare(request: HttpRequest) -> HttpResponse:
    template = "inference/comparing/latencies.html"
    first, beside, context = _chosen_rows(request, LATENCY_SETS, MAX_SETS)
    if first is None or not beside:
        return render(request, template, context)
    compared = [first, *beside]
    comparison = comparison_of_latencies(*compared)
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), dict.fromkeys(COLUMNS, ""), DEFAULT_ORDER)
    show = choice_parameter(request, "show", ("different",))
    context |= {"counts": comparison.counts(), "q": q, "sort": str(order), "orders": ORDERS, "show": show}
    context |= {"compared": compared, "only": list(zip(compared, comparison.only, strict=True))}
    number = number_parameter(request, "page", 0) or 0
    try:
        schemes = filtered_schemes(comparison, first.isa_id, order, q, different=bool(show))
        page = page_in_memory(schemes, number)
        context |= {"page": page, **_cells(page.rows, compared)}
    except SearchError as error:
        context["error"] = str(error)
    return render(request, template, context, status=400 if "error" in context else 200)


def _cells(schemes: Sequence[SharedScheme], compared: Sequence[LatencySet]) -> dict[str, Any]:
    def url(row: SharedScheme, place: int | None) -> str:
        if place is None:
            return reverse("scheme", args=[row.scheme_id])
        return reverse("latency-scheme", args=[compared[place].pk, row.scheme_id])

    return page_cells(pairs_table(schemes, [row.name for row in compared], url))


def latencies_compare_csv(request: HttpRequest) -> HttpResponse:
    """All pairs of the comparison as CSV, the largest differences first."""
    rows = _rows_of_address(request, LATENCY_SETS)
    try:
        comparison = comparison_of_latencies(*rows)
    except ExchangeError as error:
        raise BadRequest(str(error)) from error
    schemes = filtered_schemes(comparison, rows[0].isa_id, Order.of(DEFAULT_ORDER))
    names = [row.name for row in rows]
    return table_answer(csv_of(limits_table(schemes, names)), " and ".join(names), latencies="; ".join(names))


urlpatterns = [
    path("sets/compare/", sets_compare, name="sets-compare"),
    path("sets/compare/start/", sets_compare_start, name="sets-compare-start"),
    path("sets/compare.csv", sets_compare_csv, name="sets-compare-csv"),
    path("latencies/compare/", latencies_compare, name="latencies-compare"),
    path("latencies/compare.csv", latencies_compare_csv, name="latencies-compare-csv"),
]

PRESENTATIONS = {"compare-sets": KindPresentation(outcomes=outcomes_of_pairs)}
