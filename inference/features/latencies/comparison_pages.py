"""Two sets of latencies side by side."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from inference.features.latencies.comparison import (
    COLUMNS,
    USUAL_ORDER,
    chosen_latencies,
    comparable_latencies,
    comparison_of_latencies,
)
from inference.isa.search import SearchError
from inference.models import LatencySet
from inference.web.paging import Order, page_in_memory
from inference.web.requests import one_of, whole_number

_CHOSEN_FROM = 500  # sets that the page offers; others are compared by their numbers in the address
_TEMPLATE = "inference/latencies/compare.html"


def latencies_compare(request: HttpRequest) -> HttpResponse:
    """The choice of two sets, and their latencies beside each other."""
    numbers = whole_number(request, "first"), whole_number(request, "second")
    rows = LatencySet.objects.select_related("isa", "machine").defer("memory", "connectors", "readings")
    first, second = (None if pk is None else get_object_or_404(rows, pk=pk) for pk in numbers)
    context: dict[str, Any] = {
        "first": first,
        "second": second,
        "sets": LatencySet.objects.only("pk", "name").order_by("-id")[:_CHOSEN_FROM],
        "others": comparable_latencies(first)[:_CHOSEN_FROM] if first else (),
    }
    if first is None or second is None or second.isa_id != first.isa_id or second == first:
        # Whoever chooses another first set may be left with a second one that does not go with it.
        context["second"] = None
        return render(request, _TEMPLATE, context)
    found = comparison_of_latencies(first, second)
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), dict.fromkeys(COLUMNS, ""), USUAL_ORDER)
    different = one_of(request, "show", ("different",)) == "different"
    context |= {"counts": found.counts(), "q": q, "sort": str(order), "different": different}
    number = whole_number(request, "page", 0) or 0
    try:
        chosen = chosen_latencies(found, first.isa_id, order, q, different=different)
        context["page"] = page_in_memory(chosen, number)
    except SearchError as error:
        context["error"] = str(error)
    return render(request, _TEMPLATE, context, status=400 if "error" in context else 200)


urlpatterns = [path("latencies/compare/", latencies_compare, name="latencies-compare")]
