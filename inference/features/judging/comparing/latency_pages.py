"""Sets of latencies side by side, and the table as a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse

from inference.features.judging.comparing.latencies import (
    COLUMNS,
    MOST_SETS,
    USUAL_ORDER,
    SharedScheme,
    chosen_latencies,
    comparable_latencies,
    comparison_of_latencies,
    limits_table,
    pairs_table,
)
from inference.features.judging.engine.tables import csv_of, page_cells
from inference.formats.errors import ExchangeError
from inference.isa.search import SearchError
from inference.models import LatencySet
from inference.web.file_answers import table_answer
from inference.web.paging import Order, page_in_memory
from inference.web.validation import as_whole_number, one_of, whole_number

_OFFERED = 500  # sets that the page offers; others are compared by their numbers in the address
_TEMPLATE = "inference/comparing/latencies.html"
_FIELDS = ("first", "second", "also")  # of which there may be several
ORDERS = ((USUAL_ORDER, "largest differences first"), ("scheme", "by scheme"))


def latencies_compare(request: HttpRequest) -> HttpResponse:
    """The choice of sets, and their latencies beside each other."""
    rows = _sets(request)
    first = rows[0] if request.GET.get("first") else None
    # Whoever chooses another first set may be left with others that do not go with it.
    fitting = [row for row in rows if first is not None and row.isa_id == first.isa_id]
    compared = list(dict.fromkeys(fitting))[:MOST_SETS]
    others = list(comparable_latencies(first)[:_OFFERED]) if first else []
    context: dict[str, Any] = {
        "first": first,
        "sets": LatencySet.objects.only("pk", "name").order_by("-id")[:_OFFERED],
        "others": others,
        "choices": _choices(compared[1:], others),
        "compared": compared,
    }
    if first is None or len(compared) < 2:
        return render(request, _TEMPLATE, context)
    comparison = comparison_of_latencies(*compared)
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), dict.fromkeys(COLUMNS, ""), USUAL_ORDER)
    show = one_of(request, "show", ("different",))
    context |= {"counts": comparison.counts(), "q": q, "sort": str(order), "orders": ORDERS, "show": show}
    context["only"] = list(zip(compared, comparison.only, strict=True))
    number = whole_number(request, "page", 0) or 0
    try:
        schemes = chosen_latencies(comparison, first.isa_id, order, q, different=bool(show))
        page = page_in_memory(schemes, number)
        context |= {"page": page, **_cells(page.rows, compared)}
    except SearchError as error:
        context["error"] = str(error)
    return render(request, _TEMPLATE, context, status=400 if "error" in context else 200)


def _choices(
    beside: Sequence[LatencySet], others: Sequence[LatencySet]
) -> list[tuple[str, str, str, list[LatencySet], LatencySet | None]]:
    """(id, field, label, what it offers, what is chosen) for each set beside the first, and for one more."""
    chosen = [*beside, None] if len(beside) < min(len(others), MOST_SETS - 1) else beside
    return [
        (
            f"beside-{number}",
            *(("also", "And") if number > 1 else ("second", "Second set")),
            [row for row in others if row == own or row not in beside],
            own,
        )
        for number, own in enumerate(chosen, start=1)
    ]


def _cells(schemes: Sequence[SharedScheme], compared: Sequence[LatencySet]) -> dict[str, Any]:
    def url(row: SharedScheme, place: int | None) -> str:
        if place is None:
            return reverse("scheme", args=[row.scheme_id])
        return reverse("latency-scheme", args=[compared[place].pk, row.scheme_id])

    return page_cells(pairs_table(schemes, [row.name for row in compared], url))


def latencies_compare_csv(request: HttpRequest) -> HttpResponse:
    """All pairs of the comparison as a file, the largest differences first."""
    rows = _sets(request)
    try:
        comparison = comparison_of_latencies(*rows)
    except ExchangeError as error:
        raise BadRequest(str(error)) from error
    schemes = chosen_latencies(comparison, rows[0].isa_id, Order.of(USUAL_ORDER))
    names = [row.name for row in rows]
    return table_answer(csv_of(limits_table(schemes, names)), " and ".join(names), latencies="; ".join(names))


def _sets(request: HttpRequest) -> list[LatencySet]:
    """Those that the address names, in their order."""
    rows = LatencySet.objects.select_related("isa", "machine").defer("memory", "connectors", "readings")
    numbers = [as_whole_number(text, name) for name in _FIELDS for text in request.GET.getlist(name) if text]
    return [get_object_or_404(rows, pk=pk) for pk in numbers]


urlpatterns = [
    path("latencies/compare/", latencies_compare, name="latencies-compare"),
    path("latencies/compare.csv", latencies_compare_csv, name="latencies-compare-csv"),
]
