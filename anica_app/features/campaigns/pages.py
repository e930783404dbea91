"""Campaigns: the list, the page of each, live and afterwards, its rounds, file, name, note and deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import path

from anica_app.features.campaigns.asked import asked_of
from anica_app.features.campaigns.coverage_pages import selection
from anica_app.features.campaigns.discovery_rows import found_of
from anica_app.features.campaigns.query import (
    CAMPAIGN_ORDERS,
    DISCOVERY_ORDERS,
    campaigns,
    discoveries,
    newest_disagreements,
    rounds,
)
from anica_app.features.campaigns.standing import failures_in_words, lacking_of, standing_of
from anica_app.features.coverage.query import measure_of, sorted_by_coverage
from anica_app.features.discoveries.generalisations import BY_BLOCK, BY_LENGTH, sample_page, samples_of_batch
from anica_app.features.discoveries.query import discoveries_csv
from anica_app.features.families.query import answer_of, grouping_runs, growing_families, treemap_of
from anica_app.figures.rounds_chart import RoundsChart, rounds_chart
from anica_app.models import Campaign, CampaignFile, SampleBatch
from anica_app.storage.judging import judge_of
from anica_app.web.campaign_files import archive_answer, kept_file_answer
from inference.features.asking.predictors.query import different_processors
from inference.models import Predictor, Run
from inference.web.file_answers import file_answer
from inference.web.naming import naming_paths
from inference.web.paging import PAGE_SIZE, Order, Page, list_page
from inference.web.validation import one_of, whole_number


def chart_of(campaign: Campaign) -> RoundsChart | None:
    """The share of interesting blocks in each round (one query)."""
    rows = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND, interesting__isnull=False)
    return rounds_chart(
        [
            (number, n, interesting or 0)
            for number, n, interesting in rows.order_by("number").values_list("number", "n", "interesting")
        ]
    )


def campaign_list(request: HttpRequest) -> HttpResponse:
    """All campaigns, newest first, filtered by name or note, kind and tool."""
    kind = one_of(request, "kind", tuple(Campaign.Kind.values))
    tool = whole_number(request, "tool")

    def context(page: Page[Campaign]) -> dict[str, Any]:
        tools = Predictor.objects.filter(seats__isnull=False).distinct().order_by("name").only("name")
        return {
            "kind": kind,
            "kinds": Campaign.Kind.choices,
            "tool": tool,
            "tools": tools,
            "working": any(row.run and row.run.state not in Run.FINAL for row in page.rows),
        }

    return list_page(
        request,
        "anica/campaigns/list.html",
        lambda text: campaigns(text, kind, tool),
        CAMPAIGN_ORDERS,
        "-newest",
        context,
    )


def campaign_round(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """A page of the blocks, sorted by a tool or as they were sampled."""
    batch = get_object_or_404(SampleBatch.objects.select_related("campaign"), campaign=pk, number=number)
    tools = batch.campaign.tools
    columns = {name: name for name in (BY_BLOCK, BY_LENGTH, *(str(at) for at in range(1, len(tools) + 1)))}
    order = Order.read(request.GET.get("sort", ""), columns, BY_BLOCK)
    at = whole_number(request, "page", 0) or 0
    page = sample_page(samples_of_batch(batch), order.column, descending=order.descending, number=at)
    judge = judge_of(batch.campaign)
    rows = [(sample, None if judge is None else judge.verdict(sample.answers)) for sample in page.rows]
    context = {
        "campaign": batch.campaign,
        "batch": batch,
        "tools": [(str(at), tool) for at, tool in enumerate(tools, start=1)],
        "tools_asked": tools,
        "page": page,
        "rows": rows,
        "sort": str(order),
    }
    return render(request, "anica/campaigns/round.html", context)


TABS = {
    "discoveries": "Discoveries",
    "selection": "Coverage and best selection",
    "rounds": "Rounds",
    "left-out": "Failures and what was left out",
    "asked": "Configuration",
}
COVERAGE = "coverage"
_ORDERS = {**DISCOVERY_ORDERS, COVERAGE: "pk"}


def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    rows = Campaign.objects.select_related("run", "isa").defer("run__config", "run__result")
    found = get_object_or_404(rows, pk=pk)
    tab = one_of(request, "tab", tuple(TABS), "discoveries")
    tools = found.tools
    run = found.run if found.origin == Campaign.Origin.RUN else None
    live = run is not None and run.state not in Run.FINAL
    context: dict[str, Any] = {
        "campaign": found,
        "run": run,
        "live": live,
        "record": {"socket": f"/ws/runs/{run.pk}/" if run else "", "live": live, "final": list(Run.FINAL)},
        "stoppable": Run.UNFINISHED,
        "predictors": tools,
        "processors": different_processors(tools),
        "standing": standing_of(found, run),
        "chart": chart_of(found),
        **_families(found, run, live=live),
        "tabs": TABS.items(),
        "tab": tab,
        "tab_template": f"anica/campaigns/tab_{tab.replace('-', '_')}.html",
    }
    parts = {
        "discoveries": _discoveries,
        "selection": selection,
        "rounds": _rounds,
        "left-out": _left_out,
        "asked": _asked,
    }
    context |= parts[tab](request, found, [tool.name for tool in tools])
    return render(request, "anica/campaigns/campaign.html", context)


def _families(found: Campaign, run: Run | None, *, live: bool) -> dict[str, Any]:
    """What the page begins with: the answer; while there is none yet, what there is so far."""
    answer = answer_of(found)
    return {
        "answer": answer,
        "cells": [] if answer is None else treemap_of(answer),
        "grouping": (None, None) if live else grouping_runs(found),
        "can_group": found.kind == Campaign.Kind.CAMPAIGN,
        "growing": growing_families(run) if live and run is not None else [],
        "fresh": newest_disagreements(found) if live else [],
    }


def _discoveries(request: HttpRequest, found: Campaign, _tools: list[str]) -> dict[str, Any]:
    """The table, sorted as the address says: the most interesting first where it says nothing."""
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


def _rounds(request: HttpRequest, found: Campaign, _tools: list[str]) -> dict[str, Any]:
    return {"page": rounds(found, request.GET.get("page", ""))}


def _left_out(_request: HttpRequest, found: Campaign, tools: list[str]) -> dict[str, Any]:
    failures: Mapping[str, int] = found.facts.get("failures", {})
    listed = tuple(sorted(failures.items(), key=lambda item: -item[1]))
    return {"failed": failures_in_words(listed, tools), "lacking": lacking_of(found, tools)}


def _asked(_request: HttpRequest, found: Campaign, _tools: list[str]) -> dict[str, Any]:
    items = asked_of(found)
    return {
        "asked": [item for item in items if not item.usual],
        "usual": [item for item in items if item.usual],
        "files": found.files.defer("content"),
    }


def campaign_export(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The campaign with all that it has sampled, as a zip archive that another installation reads."""
    return archive_answer(get_object_or_404(Campaign, pk=pk))


def campaign_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """Its discoveries as a table."""
    row = get_object_or_404(Campaign, pk=pk)
    return file_answer(discoveries_csv(row), "text/csv", f"{row.name} discoveries", "csv")


def campaign_file(request: HttpRequest, pk: int, file: int) -> HttpResponseBase:
    """A file that came with an imported campaign, or that its run has kept, as it was."""
    return kept_file_answer(get_object_or_404(CampaignFile, pk=file, campaign=pk))


urlpatterns = [
    path("campaigns/", campaign_list, name="campaigns"),
    path("campaigns/<int:pk>/rounds/<int:number>/", campaign_round, name="campaign-round"),
    path("campaigns/<int:pk>/", campaign, name="campaign"),
    path("campaigns/<int:pk>/export/", campaign_export, name="campaign-export"),
    path("campaigns/<int:pk>/discoveries.csv", campaign_csv, name="campaign-csv"),
    path("campaigns/<int:pk>/files/<int:file>/", campaign_file, name="campaign-file"),
    *naming_paths(Campaign, "campaign", "campaigns"),
]
