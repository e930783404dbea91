"""The page of a campaign: live while its run goes on, the permanent record afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from anica_app.models import Campaign
from anica_app.queries.campaign_coverage import measure_of, sorted_by_coverage
from anica_app.queries.campaigns import DISCOVERY_ORDERS, discoveries, rounds
from anica_app.queries.standing import failures_in_words, lacking_of, standing_of
from anica_app.views.campaigns.asked import asked_of
from anica_app.views.campaigns.coverage import selection
from anica_app.views.campaigns.shown import chart_of, found_of
from inference.models import Run
from inference.web.paging import PAGE_SIZE, Order
from inference.web.requests import one_of, whole_number

TABS = {
    "discoveries": "Discoveries",
    "selection": "Coverage and best selection",
    "rounds": "Rounds",
    "left-out": "Failures and what was left out",
    "asked": "What was asked",
}
COVERAGE = "coverage"
_ORDERS = {**DISCOVERY_ORDERS, COVERAGE: "pk"}


def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """One campaign."""
    rows = Campaign.objects.select_related("run", "isa").defer("run__config", "run__result")
    found = get_object_or_404(rows, pk=pk)
    tab = one_of(request, "tab", tuple(TABS), "discoveries")
    seats = list(found.seats.select_related("predictor"))
    run = found.run if found.origin == Campaign.Origin.RUN else None
    live = run is not None and run.state not in Run.FINAL
    context: dict[str, Any] = {
        "campaign": found,
        "run": run,
        "live": live,
        "record": {"socket": f"/ws/runs/{run.pk}/" if run else "", "live": live, "final": list(Run.FINAL)},
        "stoppable": Run.UNFINISHED,
        "predictors": [seat.predictor for seat in seats],
        "standing": standing_of(found, run),
        "chart": chart_of(found),
        "tabs": TABS.items(),
        "tab": tab,
        "tab_template": f"anica/campaign/tab_{tab.replace('-', '_')}.html",
    }
    parts = {
        "discoveries": _discoveries,
        "selection": selection,
        "rounds": _rounds,
        "left-out": _left_out,
        "asked": _asked,
    }
    context |= parts[tab](request, found, [seat.predictor.name for seat in seats])
    return render(request, "anica/campaign.html", context)


def _discoveries(request: HttpRequest, found: Campaign, tools: list[str]) -> dict[str, Any]:
    """The table, sorted as the address says: the most interesting first where it says nothing."""
    del tools
    subsumed = one_of(request, "subsumed", ("", "yes")) == "yes"
    order = Order.read(request.GET.get("sort", ""), _ORDERS, "-interestingness")
    measure = measure_of(found, whole_number(request, "cover"))
    if order.column == COVERAGE and measure is not None:
        number = whole_number(request, "page", 0) or 0
        page = sorted_by_coverage(found, measure, order, number, PAGE_SIZE, subsumed=subsumed)
    else:
        order = order if order.column in DISCOVERY_ORDERS else Order("interestingness", descending=True)
        page = discoveries(found, order, request.GET.get("page", ""), subsumed=subsumed)
    by_pk = None if measure is None else measure.by_discovery
    return {
        "page": page,
        "rows": [found_of(row, by_pk) for row in page.rows],
        "sort": str(order),
        "subsumed": subsumed,
        "measure": measure,
        "exact_kinds": len({row.kind for row in page.rows}) > 1,
    }


def _rounds(request: HttpRequest, found: Campaign, tools: list[str]) -> dict[str, Any]:
    del tools
    return {"page": rounds(found, request.GET.get("page", ""))}


def _left_out(request: HttpRequest, found: Campaign, tools: list[str]) -> dict[str, Any]:
    del request
    failures: Mapping[str, int] = found.facts.get("failures", {})
    listed = tuple(sorted(failures.items(), key=lambda item: -item[1]))
    return {"failed": failures_in_words(listed, tools), "lacking": lacking_of(found, tools)}


def _asked(request: HttpRequest, found: Campaign, tools: list[str]) -> dict[str, Any]:
    del request, tools
    items = asked_of(found)
    return {
        "asked": [item for item in items if not item.usual],
        "usual": [item for item in items if item.usual],
        "files": found.files.defer("content"),
    }


urlpatterns = [path("campaigns/<int:pk>/", campaign, name="campaign")]
