"""Sets of latencies side by side, and the table as a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.features.learning.latencies.comparison import (
    COLUMNS,
    MOST_SETS,
    USUAL_ORDER,
    ComparedLatency,
    SharedScheme,
    chosen_latencies,
    comparable_latencies,
    comparison_of_latencies,
    write_compared_csv,
)
from inference.formats.errors import ExchangeError
from inference.isa.search import SearchError
from inference.models import LatencySet
from inference.web.file_answers import table_answer
from inference.web.paging import Order, page_in_memory
from inference.web.validation import as_whole_number, one_of, whole_number

_CHOSEN_FROM = 500  # sets that the page offers; others are compared by their numbers in the address
_TEMPLATE = "inference/latencies/compare.html"
_NEXT = "also"  # a set beside the first two


def latencies_compare(request: HttpRequest) -> HttpResponse:
    """The choice of sets, and their latencies beside each other."""
    numbers = whole_number(request, "first"), whole_number(request, "second")
    first, *asked = (None if pk is None else _set(pk) for pk in numbers)
    asked += [_set(pk) for pk in _further(request)]
    # Whoever chooses another first set may be left with others that do not go with it.
    beside = [] if first is None else _going_with(first, asked)
    others = list(comparable_latencies(first)[:_CHOSEN_FROM]) if first else []
    context: dict[str, Any] = {
        "first": first,
        "sets": LatencySet.objects.only("pk", "name").order_by("-id")[:_CHOSEN_FROM],
        "others": others,
        "beside": beside,
        "free": first is not None and len(beside) < min(len(others), MOST_SETS - 1),
    }
    if first is None or not beside:
        return render(request, _TEMPLATE, context)
    compared = [first, *beside]
    found = comparison_of_latencies(*compared)
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), dict.fromkeys(COLUMNS, ""), USUAL_ORDER)
    different = one_of(request, "show", ("different",)) == "different"
    context |= {"counts": found.counts(), "q": q, "sort": str(order), "different": different}
    context |= {"compared": compared, "only": list(zip(compared, found.only, strict=True))}
    number = whole_number(request, "page", 0) or 0
    try:
        chosen = chosen_latencies(found, first.isa_id, order, q, different=different)
        page = page_in_memory(chosen, number)
        context |= {"page": page, "rows": [(each, _by_set(each, compared)) for each in page.rows]}
    except SearchError as error:
        context["error"] = str(error)
    return render(request, _TEMPLATE, context, status=400 if "error" in context else 200)


def _by_set(scheme: SharedScheme, sets: Sequence[LatencySet]) -> list[tuple[ComparedLatency, list[Any]]]:
    """Its pairs, each with what every set says and the set."""
    return [(pair, list(zip(pair.said, sets, strict=True))) for pair in scheme.pairs]


def latencies_compare_csv(request: HttpRequest) -> HttpResponse:
    """All pairs of the comparison as a file, the largest differences first."""
    numbers = [whole_number(request, "first"), whole_number(request, "second"), *_further(request)]
    rows = [_set(pk) for pk in numbers if pk is not None]
    try:
        found = comparison_of_latencies(*rows)
    except ExchangeError as error:
        raise BadRequest(str(error)) from error
    schemes = chosen_latencies(found, rows[0].isa_id, Order.of(USUAL_ORDER))
    names = [row.name for row in rows]
    return table_answer(write_compared_csv(schemes, names), " and ".join(names), latencies="; ".join(names))


def _further(request: HttpRequest) -> list[int]:
    """The numbers of sets beside the first two."""
    return [as_whole_number(text, _NEXT) for text in request.GET.getlist(_NEXT) if text]


def _set(pk: int) -> LatencySet:
    rows = LatencySet.objects.select_related("isa", "machine").defer("memory", "connectors", "readings")
    return get_object_or_404(rows, pk=pk)


def _going_with(first: LatencySet, asked: Iterable[LatencySet | None]) -> list[LatencySet]:
    """Those that can stand beside the first one, each once."""
    fitting = (row for row in asked if row is not None and row != first and row.isa_id == first.isa_id)
    return list(dict.fromkeys(fitting))[: MOST_SETS - 1]


urlpatterns = [
    path("latencies/compare/", latencies_compare, name="latencies-compare"),
    path("latencies/compare.csv", latencies_compare_csv, name="latencies-compare-csv"),
]
