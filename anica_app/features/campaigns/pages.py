"""Pages of campaigns: the list, a campaign while it runs and afterwards, its coverage, a comparison of
several.
"""

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

from anica_app.features.campaigns.comparison import ComparedCampaigns, compared_campaigns, differing
from anica_app.features.campaigns.exports import (
    archive_answer,
    publishable,
    published_page,
    stored_file_answer,
)
from anica_app.features.campaigns.form import campaigns_of, configuration_items
from anica_app.features.campaigns.progress import campaign_doing, campaign_status
from anica_app.features.campaigns.query import (
    CAMPAIGN_ORDERS,
    DISCOVERY_ORDERS,
    campaigns,
    campaigns_about,
    discoveries,
    discovery_row,
    failures_in_words,
    lacking_of,
    newest_disagreements,
    of_campaign,
    rounds,
    search_hits,
)
from anica_app.features.coverage.query import (
    KIND,
    MAX_CAMPAIGNS,
    coverage_config,
    coverage_runs,
    measure_of,
    measure_of_run,
    own_measure,
    sets_for,
    sorted_by_coverage,
)
from anica_app.features.discoveries.query import BY_BLOCK, BY_LENGTH, sample_page
from anica_app.features.discoveries.wording import discoveries_csv
from anica_app.features.families.evidence import HardwareGrade, RankedFamilies, ranked_families
from anica_app.features.families.query import answer_of, grouping_runs, growing_families, treemap_of
from anica_app.figures.campaign_charts import RoundsChart, rounds_chart
from anica_app.models import Campaign, CampaignFile, Discovery, SampleBatch
from anica_app.storage.findings import judge_of
from inference.core.protocols import Json
from inference.features.asking.predictors.offers import Offer, offers
from inference.features.asking.predictors.query import different_processors
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.models import BasicBlockSet, Predictor, Run, StoredCoreModel
from inference.predictors.samples import unpack
from inference.storage.instruction_sets import code_isa
from inference.web.contributions import Context, PagePanel, PanelPlace, Publishable
from inference.web.file_answers import file_answer
from inference.web.naming import naming_paths
from inference.web.paging import PAGE_SIZE, Order, Page, list_page, page_in_memory
from inference.web.presentation import UNKNOWN
from inference.web.request_fields import start_run
from inference.web.validation import choice_parameter, number_parameter, row_id_or_none, row_ids

TABS = {
    "discoveries": "Discoveries",
    "selection": "Coverage and best selection",
    "rounds": "Rounds",
    "left-out": "Failures and what was left out",
    "asked": "Configuration",
}
_TAB_FILES = {"left-out": "exclusions", "asked": "configuration"}
COVERAGE = "coverage"
_ORDERS = {**DISCOVERY_ORDERS, COVERAGE: "pk"}
OWN = "own"


def chart_of(campaign: Campaign) -> RoundsChart | None:
    """The share of interesting blocks per round (one query)."""
    rows = campaign.batches.filter(purpose=SampleBatch.Purpose.ROUND, interesting__isnull=False)
    return rounds_chart(
        [
            (number, n, interesting or 0)
            for number, n, interesting in rows.order_by("number").values_list("number", "n", "interesting")
        ]
    )


def campaign_list(request: HttpRequest) -> HttpResponse:
    """All campaigns, newest first, filtered by name or note, kind and tool."""
    kind = choice_parameter(request, "kind", tuple(Campaign.Kind.values))
    tool = number_parameter(request, "tool")

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
    """A page of a round's blocks, sorted by a tool's answer or in the order of sampling."""
    batch = get_object_or_404(SampleBatch.objects.select_related("campaign"), campaign=pk, number=number)
    tools = batch.campaign.tools
    columns = {name: name for name in (BY_BLOCK, BY_LENGTH, *(str(at) for at in range(1, len(tools) + 1)))}
    order = Order.read(request.GET.get("sort", ""), columns, BY_BLOCK)
    at = number_parameter(request, "page", 0) or 0
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
    row = get_object_or_404(rows, pk=pk)
    tab = choice_parameter(request, "tab", tuple(TABS), "discoveries")
    tools = row.tools
    run = row.run if row.origin == Campaign.Origin.RUN else None
    live = run is not None and run.state not in Run.FINAL
    status = campaign_status(row, run)
    context: dict[str, Any] = {
        "campaign": row,
        "run": run,
        "live": live,
        "record": {"socket": f"/ws/runs/{run.pk}/" if run else "", "live": live, "final": list(Run.FINAL)},
        "stoppable": Run.UNFINISHED,
        "predictors": tools,
        "processors": different_processors(tools),
        "status": status,
        "doing": campaign_doing(row, run, status) if live and run is not None else None,
        "chart": chart_of(row),
        **_families(row, run, live=live),
        "tabs": TABS.items(),
        "tab": tab,
        "views_open": bool(request.GET) or not (live or row.families.exists()),
        "tab_template": f"anica/campaigns/tab_{_TAB_FILES.get(tab, tab)}.html",
    }
    parts = {
        "discoveries": _discoveries,
        "selection": selection,
        "rounds": _rounds,
        "left-out": _left_out,
        "asked": _configuration,
    }
    context |= parts[tab](request, row, [tool.name for tool in tools])
    return render(request, "anica/campaigns/campaign.html", context)


def _families(row: Campaign, run: Run | None, *, live: bool) -> dict[str, Any]:
    """The top of the page: the families, or while the campaign runs, the families so far."""
    answer = answer_of(row)
    ranked = None if answer is None else ranked_families(row, answer.families)
    return {
        "answer": answer,
        "ranked": ranked,
        "machines": _machines(ranked, code_isa(row.isa)),
        "marks": Discovery.Mark.choices,
        "cells": [] if answer is None else treemap_of(answer),
        "grouping": (None, None) if live else grouping_runs(row),
        "can_group": row.kind == Campaign.Kind.CAMPAIGN,
        "growing": growing_families(run) if live and run is not None else [],
        "fresh": newest_disagreements(row) if live else [],
    }


def _machines(ranked: RankedFamilies | None, isa: str) -> list[Offer]:
    """The machines that can measure a witness that none has measured; [] where all are measured."""
    rows = () if ranked is None else (*ranked.worst, *ranked.further)
    is_unmeasured = any(row.grade is HardwareGrade.UNMEASURED for row in rows)
    return offers().answering_for(isa).machines if is_unmeasured else []


def _discoveries(request: HttpRequest, row: Campaign, _tools: list[str]) -> dict[str, Any]:
    """The table of discoveries, by interestingness unless the address gives an order."""
    subsumed = choice_parameter(request, "subsumed", ("", "yes")) == "yes"
    order = Order.read(request.GET.get("sort", ""), _ORDERS, "-interestingness")
    measure = measure_of(row, number_parameter(request, "cover"))
    if order.column == COVERAGE and measure is not None:
        number = number_parameter(request, "page", 0) or 0
        page = sorted_by_coverage(row, measure, order, number, PAGE_SIZE, subsumed=subsumed)
    else:
        order = order if order.column in DISCOVERY_ORDERS else Order("interestingness", descending=True)
        page = discoveries(row, order, request.GET.get("page", ""), subsumed=subsumed)
    by_pk = None if measure is None else measure.by_discovery
    return {
        "page": page,
        "rows": [discovery_row(discovery, by_pk) for discovery in page.rows],
        "sort": str(order),
        "subsumed": subsumed,
        "measure": measure,
        "exact_kinds": len({discovery.kind for discovery in page.rows}) > 1,
    }


def _rounds(request: HttpRequest, row: Campaign, _tools: list[str]) -> dict[str, Any]:
    return {"page": rounds(row, request.GET.get("page", ""))}


def _left_out(_request: HttpRequest, row: Campaign, tools: list[str]) -> dict[str, Any]:
    failures: Mapping[str, int] = row.facts.get("failures", {})
    listed = tuple(sorted(failures.items(), key=lambda item: -item[1]))
    return {"failed": failures_in_words(listed, tools), "lacking": lacking_of(row, tools)}


def _configuration(_request: HttpRequest, row: Campaign, _tools: list[str]) -> dict[str, Any]:
    items = configuration_items(row)
    return {
        "changed": [item for item in items if not item.usual],
        "usual": [item for item in items if item.usual],
        "files": row.files.defer("content"),
    }


def campaign_export(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The campaign with all sampled blocks, as a zip archive that another installation can import."""
    return archive_answer(get_object_or_404(Campaign, pk=pk))


def campaign_csv(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Campaign, pk=pk)
    return file_answer(discoveries_csv(row), "text/csv", f"{row.name} discoveries", "csv")


def campaign_file(request: HttpRequest, pk: int, file: int) -> HttpResponseBase:
    """A file of the campaign, unchanged."""
    return stored_file_answer(get_object_or_404(CampaignFile, pk=file, campaign=pk))


def selection(request: HttpRequest, campaign: Campaign, _tools: list[str]) -> dict[str, Any]:
    """The context of the tab: the best selections of every size, and that of size `k` in full."""
    runs = coverage_runs([campaign.pk], number_parameter(request, "cover"))
    result = runs.result
    context: dict[str, Any] = {"runs": runs, "sets": sets_for(campaign), "measure": own_measure(campaign)}
    if not result or not result["blocks"]:
        return context
    sizes = result["best"]
    k = min(max(1, number_parameter(request, "k", 10) or 1), max(1, len(sizes)))
    best: Json = sizes[k - 1] if sizes else {"chosen": [], "covered": 0, "proven": True}
    by_pk = {int(pk): count for pk, count in result["by_discovery"].items()}
    rows = Discovery.objects.defer("foreign", "remarks", "note").in_bulk(best["chosen"])
    return context | {
        "measure": measure_of_run(runs),
        "k": k,
        "best": best,
        "best_share": best["covered"] / result["blocks"],
        "sizes": [(at, size["covered"] / result["blocks"]) for at, size in enumerate(sizes, start=1)],
        "chosen": [
            (discovery_row(rows[pk], by_pk), by_pk.get(pk, 0) / result["blocks"])
            for pk in best["chosen"]
            if pk in rows
        ],
        "uncovered": result["uncovered"][:20],
        "left": result["blocks"] - result["covered"],
    }


@require_POST
def campaign_coverage(request: HttpRequest, pk: int) -> HttpResponse:
    """Start a coverage run over the campaign's own blocks, or over those of a set."""
    row = get_object_or_404(Campaign, pk=pk)
    over = request.POST.get("over", OWN)
    block_set = None
    if over != OWN:
        block_set = get_object_or_404(BasicBlockSet, pk=row_id_or_none(over))
    config = coverage_config(row, block_set)
    return start_coverage(request, config, f"{reverse('campaign', args=[pk])}?tab=selection")


def start_coverage(request: HttpRequest, config: Json, back: str) -> HttpResponse:
    start_run(request, KIND, config)
    return redirect(back)


def campaign_compare(request: HttpRequest) -> HttpResponse:
    """The campaigns that the address names with `c`."""
    ids = _ids(request.GET.getlist("c"))
    compared = compared_campaigns(ids)
    rows = compared.rows
    addable = Campaign.objects.exclude(pk__in=ids).order_by("-id").only("name")
    context: dict[str, Any] = {"campaigns": rows, "others": addable[:200], "ids": [row.pk for row in rows]}
    if len(rows) >= 2:
        context |= _comparison_context(request, compared)
    return render(request, "anica/campaigns/compare.html", context)


def _ids(texts: Sequence[str]) -> list[int]:
    ids = set(row_ids(texts))
    if len(ids) > MAX_CAMPAIGNS:
        raise BadRequest(f"at most {MAX_CAMPAIGNS} campaigns can be compared at a time, not {len(ids)}")
    return sorted(ids)


def _comparison_context(request: HttpRequest, compared: ComparedCampaigns) -> dict[str, Any]:
    shared, incomplete = differing([_facts(row) for row in compared.rows], UNKNOWN)
    context = {
        "runs": compared.runs,
        "result": compared.result,
        "differing": shared,
        "incomplete": incomplete,
        "sides": compared.sides,
        "pairs": compared.pairs,
    }
    if compared.result:
        alone = compared.alone
        page = page_in_memory(alone, number_parameter(request, "page", 0) or 0)
        by_pk = Discovery.listed().in_bulk(page.rows)
        rows = [discovery_row(by_pk[pk], compared.covered) for pk in page.rows if pk in by_pk]
        context |= {"page": page, "alone": rows}
    return context


def _facts(row: Campaign) -> dict[str, str]:
    tools = " and ".join(tool.name for tool in row.tools)
    items = configuration_items(row)
    values = {item.label: item.text or ", ".join(link.text for link in item.links) for item in items}
    return {"Predictors": tools, "Kind": row.get_kind_display(), **values}


@require_POST
def campaign_overlap(request: HttpRequest) -> HttpResponse:
    """Start to compute which discoveries of some campaigns cover each other."""
    ids = _ids(request.POST.getlist("c"))
    back = f"{reverse('campaign-compare')}?{urlencode([('c', pk) for pk in ids])}"
    return start_coverage(request, {"campaigns": ids}, back)


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


def _about_cpu(_request: HttpRequest, row: StoredCoreModel) -> Context | None:
    rows = campaigns_about(row)
    return {"campaigns": rows, "core_model": row} if rows or row.machine_id else None


PRESENTATIONS = {"campaign": KindPresentation(outcomes=campaigns_of)}
PUBLISHED = (Publishable("campaign", "Campaigns", publishable, published_page),)
FINDERS = (search_hits,)
DEPENDENTS = ((Campaign, of_campaign),)
PANELS = (
    PagePanel(
        PanelPlace.CORE_MODEL, "mistakes", "Tools", "anica/campaigns/of_cpu.html", _about_cpu, order=10
    ),
)
