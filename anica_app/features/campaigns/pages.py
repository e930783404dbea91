"""Campaigns: the list, the page of each, live and afterwards, what they cover, some side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from anica_app.features.campaigns.comparing import ComparedCampaigns, compared_campaigns, differing
from anica_app.features.campaigns.form import asked_of
from anica_app.features.campaigns.publishing import archive_answer, kept_file_answer
from anica_app.features.campaigns.query import (
    CAMPAIGN_ORDERS,
    DISCOVERY_ORDERS,
    campaigns,
    discoveries,
    failures_in_words,
    found_of,
    lacking_of,
    newest_disagreements,
    rounds,
    standing_of,
)
from anica_app.features.coverage.query import (
    KIND,
    MOST_CAMPAIGNS,
    coverage_config,
    coverage_runs,
    measure_of,
    measure_of_run,
    own_measure,
    sets_for,
    sorted_by_coverage,
)
from anica_app.features.discoveries.query import BY_BLOCK, BY_LENGTH, sample_page
from anica_app.features.discoveries.saying import discoveries_csv
from anica_app.features.families.query import answer_of, grouping_runs, growing_families, treemap_of
from anica_app.figures.campaign_charts import RoundsChart, rounds_chart
from anica_app.models import Campaign, CampaignFile, Discovery, SampleBatch
from anica_app.storage.findings import judge_of
from inference.core.protocols import Json
from inference.features.asking.predictors.query import different_processors
from inference.models import BasicBlockSet, Predictor, Run
from inference.predictors.samples import unpack
from inference.web.file_answers import file_answer
from inference.web.naming import naming_paths
from inference.web.paging import PAGE_SIZE, Order, Page, list_page, page_in_memory
from inference.web.presentation import UNKNOWN
from inference.web.request_fields import start_run
from inference.web.validation import one_of, row_number, row_numbers, whole_number

TABS = {
    "discoveries": "Discoveries",
    "selection": "Coverage and best selection",
    "rounds": "Rounds",
    "left-out": "Failures and what was left out",
    "asked": "Configuration",
}
COVERAGE = "coverage"
_ORDERS = {**DISCOVERY_ORDERS, COVERAGE: "pk"}
OWN = "own"


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
    page = sample_page(unpack(bytes(batch.samples)), order.column, descending=order.descending, number=at)
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


def selection(request: HttpRequest, campaign: Campaign, _tools: list[str]) -> dict[str, Any]:
    """What the tab shows: a run's best selections of every size, the one of `k` in full."""
    runs = coverage_runs([campaign.pk], whole_number(request, "cover"))
    found = runs.result
    context: dict[str, Any] = {"runs": runs, "sets": sets_for(campaign), "measure": own_measure(campaign)}
    if not found or not found["blocks"]:
        return context
    sizes = found["best"]
    k = min(max(1, whole_number(request, "k", 10) or 1), max(1, len(sizes)))
    best: Json = sizes[k - 1] if sizes else {"chosen": [], "covered": 0, "proven": True}
    by_pk = {int(pk): count for pk, count in found["by_discovery"].items()}
    rows = Discovery.objects.defer("foreign", "remarks", "note").in_bulk(best["chosen"])
    return context | {
        "measure": measure_of_run(runs),
        "found": found,
        "k": k,
        "best": best,
        "best_share": best["covered"] / found["blocks"],
        "sizes": [(at, one["covered"] / found["blocks"]) for at, one in enumerate(sizes, start=1)],
        "chosen": [
            (found_of(rows[pk], by_pk), by_pk.get(pk, 0) / found["blocks"])
            for pk in best["chosen"]
            if pk in rows
        ],
        "uncovered": found["uncovered"][:20],
        "left": found["blocks"] - found["covered"],
    }


@require_POST
def campaign_coverage(request: HttpRequest, pk: int) -> HttpResponse:
    """Start to look at the campaign's own blocks, or at those of a set."""
    row = get_object_or_404(Campaign, pk=pk)
    over = request.POST.get("over", OWN)
    chosen = None
    if over != OWN:
        chosen = get_object_or_404(BasicBlockSet, pk=row_number(over))
    config = coverage_config(row, chosen)
    return start_coverage(request, config, row.name, f"{reverse('campaign', args=[pk])}?tab=selection")


def start_coverage(request: HttpRequest, config: Json, name: str, back: str) -> HttpResponse:
    """Submit the run and lead back to where its result will be."""
    start_run(request, KIND, config, f"Coverage of {name}"[:180])
    return redirect(back)


def campaign_compare(request: HttpRequest) -> HttpResponse:
    """Those that the address names with `c`, each once."""
    ids = _ids(request.GET.getlist("c"))
    compared = compared_campaigns(ids)
    rows = compared.rows
    others = Campaign.objects.exclude(pk__in=ids).order_by("-id").only("name")
    context: dict[str, Any] = {"campaigns": rows, "others": others[:200], "ids": [row.pk for row in rows]}
    if len(rows) >= 2:
        context |= _compared(request, compared)
    return render(request, "anica/campaigns/compare.html", context)


def _ids(texts: Sequence[str]) -> list[int]:
    ids = set(row_numbers(texts))
    if len(ids) > MOST_CAMPAIGNS:
        raise BadRequest(f"at most {MOST_CAMPAIGNS} campaigns can be compared at a time, not {len(ids)}")
    return sorted(ids)


def _compared(request: HttpRequest, compared: ComparedCampaigns) -> dict[str, Any]:
    shared, one_sided = differing([_facts(row) for row in compared.rows], UNKNOWN)
    context = {
        "runs": compared.runs,
        "found": compared.found,
        "differing": shared,
        "one_sided": one_sided,
        "sides": compared.sides,
        "pairs": compared.pairs,
    }
    if compared.found:
        alone = compared.alone
        page = page_in_memory(alone, whole_number(request, "page", 0) or 0)
        by_pk = Discovery.listed().in_bulk(page.rows)
        rows = [found_of(by_pk[pk], compared.covered) for pk in page.rows if pk in by_pk]
        context |= {"page": page, "alone": rows}
    return context


def _facts(row: Campaign) -> dict[str, str]:
    tools = " and ".join(tool.name for tool in row.tools)
    items = asked_of(row)
    told = {item.label: item.text or ", ".join(link.text for link in item.links) for item in items}
    return {"Predictors": tools, "Kind": row.get_kind_display(), **told}


@require_POST
def campaign_overlap(request: HttpRequest) -> HttpResponse:
    """Start to hold the discoveries of campaigns against each other."""
    ids = _ids(request.POST.getlist("c"))
    back = f"{reverse('campaign-compare')}?{urlencode([('c', pk) for pk in ids])}"
    names = Campaign.objects.filter(pk__in=ids).values_list("name", flat=True)
    return start_coverage(request, {"campaigns": ids}, " and ".join(names), back)


urlpatterns = [
    path("campaigns/", campaign_list, name="campaigns"),
    path("campaigns/<int:pk>/rounds/<int:number>/", campaign_round, name="campaign-round"),
    path("campaigns/<int:pk>/", campaign, name="campaign"),
    path("campaigns/<int:pk>/export/", campaign_export, name="campaign-export"),
    path("campaigns/<int:pk>/discoveries.csv", campaign_csv, name="campaign-csv"),
    path("campaigns/<int:pk>/files/<int:file>/", campaign_file, name="campaign-file"),
    *naming_paths(Campaign, "campaign", "campaigns"),
    path("campaigns/<int:pk>/coverage/", campaign_coverage, name="campaign-coverage"),
    path("campaigns/compare/", campaign_compare, name="campaign-compare"),
    path("campaigns/compare/start/", campaign_overlap, name="campaign-overlap"),
]
