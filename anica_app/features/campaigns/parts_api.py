"""Parts of campaigns over the API: discoveries, best selections, sampled blocks, files, comparisons."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.campaigns.comparison import ComparedCampaigns, compared_campaigns, differing, flatten
from anica_app.features.campaigns.exports import stored_file_answer
from anica_app.features.campaigns.query import DISCOVERY_ORDERS, discoveries, lacking_of, rounds
from anica_app.features.coverage.query import (
    KIND,
    MAX_CAMPAIGNS,
    Measure,
    coverage_config,
    coverage_runs,
    measure_of,
    measure_of_run,
    sorted_by_coverage,
)
from anica_app.features.discoveries.query import BY_BLOCK, judged, sample_page
from anica_app.features.discoveries.shapes import (
    CampaignDiscoveryOut,
    DiscoveryOut,
    JudgedBlockOut,
    discovery_json,
    judged_json,
)
from anica_app.features.discoveries.wording import discoveries_csv
from anica_app.models import Campaign, CampaignFile, Discovery, SampleBatch
from anica_app.storage.findings import judge_of
from inference.core.protocols import Json
from inference.features.running.runs.runs_of_kind import start_response
from inference.models import BasicBlockSet
from inference.predictors.samples import unpack
from inference.storage.instruction_sets import code_isa
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import (
    PageOf,
    Paging,
    allowed_sorts,
    check_cursor,
    list_answer_in_memory,
    page_json,
    page_number,
)
from inference.web.api.shapes import Input, Ref, RowOut, RunOut, parameter
from inference.web.file_answers import attachment
from inference.web.paging import Order
from inference.web.validation import Id

router = Router()
COVERAGE = "coverage"
DiscoverySort = Annotated[str, allowed_sorts([*DISCOVERY_ORDERS, COVERAGE])]
Over = parameter(
    None,
    ge=0,
    le=2**63 - 1,
    description="Id of a run of kind `coverage`; by default the newest.",
    examples=[9],
)
_ABSENT = "null"


class DiscoveriesOut(PageOf[DiscoveryOut]):
    """A page of a campaign's discoveries. `covered` of each is out of `blocks`, which `over` describes."""

    over: str | None = Field(examples=["interesting random blocks of the campaign itself"])
    blocks: int | None = Field(examples=[212])


class SizeOut(Schema):
    """The joint coverage of the best k discoveries."""

    k: int = Field(examples=[2])
    covered: int = Field(examples=[180])
    proven: bool = Field(
        description="Whether the solver showed that no other selection covers more.", examples=[True]
    )


class BestSelectionOut(Schema):
    """The k discoveries with the largest joint coverage, and the coverage of other sizes."""

    coverage: Id = Field(description="Run that computed the coverage.")
    over: str = Field(examples=["interesting random blocks of the campaign itself"])
    blocks: int = Field(examples=[212])
    k: int = Field(examples=[2])
    covered: int = Field(examples=[180])
    proven: bool = Field(examples=[True])
    discoveries: list[DiscoveryOut]
    sizes: list[SizeOut]


class NewCoverageOfCampaign(Input):
    """The blocks to cover: those of a set, or the campaign's own random ones."""

    block_set: Id | None = Field(
        None, description="Id of a set with a column for each of the campaign's predictors.", examples=[None]
    )


class BatchOut(Schema):
    """Blocks that were judged together: those of a round, or of another purpose."""

    number: int = Field(examples=[0])
    purpose: str = Field(description="round, minimisation, discovery or other.", examples=["round"])
    discovery_id: Id | None
    n: int = Field(examples=[500])
    interesting: int | None = Field(examples=[34])
    failed: int = Field(description="Failed attempts to sample a block.", examples=[2])
    facts: dict[str, Any] = Field(examples=[{"seconds": 3.2}])


class LackingOut(RowOut):
    """Schemes that are excluded because a tool does not support them."""

    predictor: str = Field(validation_alias="tool", examples=["osaca 0.7.1"])
    reason: str = Field(examples=["unsupported"])
    count: int = Field(examples=[54])
    schemes: list[str] = Field(description="The first 200 schemes.", examples=[["lar GPR[16]:W, GPR[16]:R"]])


@router.get("/campaigns/{campaign_id}/discoveries", response=DiscoveriesOut)
def list_discoveries(
    request: HttpRequest,
    campaign_id: Id,
    paging: Query[Paging],
    subsumed: bool = parameter(
        False, description="Also return discoveries that others include.", examples=[False]
    ),
    coverage: int | None = Over,
    sort: DiscoverySort = "-interestingness",
) -> Any:
    """The discoveries of a campaign, each with its coverage where that has been computed."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    measure = measure_of(row, coverage)
    order = Order.of(sort)
    if order.column == COVERAGE:
        number, by = page_number(paging), _required_measure(measure)
        page = sorted_by_coverage(row, by, order, number, paging.limit, subsumed=subsumed)
    else:
        check_cursor(paging)
        page = discoveries(row, order, paging.cursor, subsumed=subsumed, size=paging.limit)
    covered = None if measure is None else measure.by_discovery
    return {
        **page_json(page, [discovery_json(discovery, covered) for discovery in page.rows]),
        "over": None if measure is None else measure.over,
        "blocks": None if measure is None else measure.blocks,
    }


@router.get("/campaigns/{campaign_id}/best", response=BestSelectionOut)
def get_best_selection(
    request: HttpRequest,
    campaign_id: Id,
    k: int = parameter(10, ge=1, le=1000, description="Number of discoveries.", examples=[2]),
    coverage: int | None = Over,
) -> Any:
    """The k discoveries with the largest joint coverage; fewer where fewer cover as much."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    runs = coverage_runs([row.pk], coverage)
    _required_measure(None if runs.selected is None else measure_of_run(runs))
    assert runs.selected is not None
    measure, sizes = measure_of_run(runs), runs.result["best"]
    k = min(k, len(sizes))
    best: Json = sizes[k - 1] if sizes else {"chosen": [], "covered": 0, "proven": True}
    rows = Discovery.listed().in_bulk(best["chosen"])
    selection = [discovery_json(rows[pk], measure.by_discovery) for pk in best["chosen"] if pk in rows]
    return {
        **best,
        "coverage": runs.selected.pk,
        "over": measure.over,
        "blocks": measure.blocks,
        "k": k,
        "discoveries": selection,
        "sizes": [{**size, "k": number} for number, size in enumerate(sizes, start=1)],
    }


@router.post("/campaigns/{campaign_id}/coverages", response={201: RunOut})
def start_coverage_of_campaign(request: HttpRequest, campaign_id: Id, data: NewCoverageOfCampaign) -> Any:
    """Start to compute the coverage of a campaign's discoveries, and their best selections.

    `GET /coverages` lists results. `POST /coverages` takes several campaigns and any columns.
    """
    row = get_object_or_404(Campaign, pk=campaign_id)
    over = None if data.block_set is None else get_object_or_404(BasicBlockSet, pk=data.block_set)
    return start_response(request, KIND, coverage_config(row, over))


@router.get("/campaigns/{campaign_id}/batches", response=PageOf[BatchOut])
def list_batches(request: HttpRequest, campaign_id: Id, paging: Query[Paging]) -> Any:
    """The batches that a campaign sampled outside of generalisations, in order."""
    check_cursor(paging)
    page = rounds(get_object_or_404(Campaign, pk=campaign_id), paging.cursor, paging.limit)
    return page_json(page, page.rows)


@router.get("/campaigns/{campaign_id}/batches/{number}/blocks", response=PageOf[JudgedBlockOut])
def list_batch_blocks(
    request: HttpRequest,
    campaign_id: Id,
    number: Id,
    paging: Query[Paging],
    sort: Literal["block", "-block", "length", "-length", "1", "-1", "2", "-2"] = parameter(
        BY_BLOCK,
        description="Order: as sampled, by length in bytes, or by the prediction of the first or "
        "second tool.",
    ),
) -> Any:
    """The blocks of a batch, with every tool's answer and whether they are interesting."""
    rows = SampleBatch.objects.select_related("campaign__isa")
    batch = get_object_or_404(rows, campaign=campaign_id, number=number)
    names = [tool.name for tool in batch.campaign.tools]
    page = sample_page(
        unpack(bytes(batch.samples)),
        sort.removeprefix("-"),
        descending=sort.startswith("-"),
        number=page_number(paging),
        size=paging.limit,
    )
    examined = judged(judge_of(batch.campaign), page.rows, len(names))
    isa = code_isa(batch.campaign.isa)
    return page_json(page, [judged_json(block, isa, names) for block in examined])


@router.get("/campaigns/{campaign_id}/unsupported", response=list[LackingOut])
def list_unsupported(request: HttpRequest, campaign_id: Id) -> Any:
    """The schemes that a campaign excluded, by the tool that does not support them."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    return lacking_of(row, [tool.name for tool in row.tools])


@router.get("/campaigns/{campaign_id}/exports/csv", response=str, openapi_extra={FILE: "text/csv"})
def export_discoveries(request: HttpRequest, campaign_id: Id) -> HttpResponse:
    """The discoveries of a campaign as CSV, with text and documents."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    access.log_action(request, AuditAction.EXPORTED, row)
    return attachment(discoveries_csv(row), "text/csv; charset=utf-8", f"{row.name} discoveries", "csv")


@router.get(
    "/campaigns/{campaign_id}/files/{file_id}",
    response=bytes,
    openapi_extra={FILE: "application/octet-stream"},
)
def get_campaign_file(request: HttpRequest, campaign_id: Id, file_id: Id) -> HttpResponseBase:
    """A file of a campaign, unchanged."""
    row = get_object_or_404(CampaignFile.objects.select_related("campaign"), pk=file_id, campaign=campaign_id)
    access.log_action(request, AuditAction.EXPORTED, row.campaign)
    return stored_file_answer(row)


def _required_measure(measure: Measure | None) -> Measure:
    if measure is None:
        raise ProblemError(
            409,
            "Nobody has looked yet which blocks these discoveries include",
            where="path campaign_id",
            right="POST to its /coverages, and wait for the run",
        )
    return measure


class Campaigns(Schema):
    """The campaigns to compare, without duplicates."""

    campaigns: Annotated[
        list[Id],
        Field(min_length=2, max_length=MAX_CAMPAIGNS, description="Ids of campaigns.", examples=[[4, 5]]),
    ]


class DifferenceOut(Schema):
    """A setting that differs; null for a campaign that lacks it."""

    name: str = Field(examples=["search.samples"])
    values: list[Any] = Field(examples=[[100, 50]])


class SideOut(Schema):
    """A campaign and the discoveries that only it has; null before a coverage run over these campaigns."""

    campaign: Ref
    discoveries: int = Field(examples=[31])
    alone: int | None = Field(description="Discoveries that no other campaign of these has.", examples=[9])
    covered: int | None = Field(
        description="Interesting blocks of all these campaigns that its discoveries include.", examples=[180]
    )


class CampaignComparisonOut(Schema):
    """Campaigns side by side. `shared[i][j]`: discoveries of campaign i that campaign j covers as well.

    `coverage` is the run that computed this: null before `POST /coverages` with these campaigns.
    """

    sides: list[SideOut]
    differing: list[DifferenceOut]
    coverage: Id | None
    blocks: int | None = Field(description="Interesting blocks of all these campaigns.", examples=[212])
    covered: int | None = Field(examples=[190])
    shared: list[list[int | None]] = Field(examples=[[[None, 22], [20, None]]])


@router.get("/campaign-comparisons", response=CampaignComparisonOut)
def compare_campaigns(request: HttpRequest, campaigns: Query[Campaigns]) -> Any:
    """Compare campaigns: differences in configuration, and shared discoveries."""
    compared = _compare(campaigns)
    descriptions = [
        {
            "predictors": json.dumps([tool.name for tool in row.tools]),
            "kind": json.dumps(row.kind),
            **{
                name: json.dumps(value, sort_keys=True)
                for name, value in flatten(row.config)
                if name != "predictors"
            },
        }
        for row in compared.rows
    ]
    shared, incomplete = differing(descriptions, _ABSENT)
    result = compared.result
    return {
        "sides": compared.sides,
        "differing": [
            {"name": name, "values": [json.loads(text) for text in values]}
            for name, values in (*shared, *incomplete)
        ],
        "coverage": None if compared.runs.selected is None else compared.runs.selected.pk,
        "blocks": result.get("blocks"),
        "covered": result.get("covered"),
        "shared": [[None if pair is None else pair.shared for pair in pairs] for _, pairs in compared.pairs],
    }


@router.get("/campaign-comparisons/alone", response=PageOf[CampaignDiscoveryOut])
def list_found_alone(request: HttpRequest, campaigns: Query[Campaigns], paging: Query[Paging]) -> Any:
    """The discoveries that only one of the campaigns has, by campaign; empty before a coverage run over
    them.
    """
    compared = _compare(campaigns)

    def discoveries_json(pks: Any) -> list[dict[str, Any]]:
        rows = Discovery.listed().in_bulk(pks)
        return [
            {**discovery_json(rows[pk], compared.covered), "campaign": rows[pk].campaign}
            for pk in pks
            if pk in rows
        ]

    return list_answer_in_memory(compared.alone, paging, discoveries_json)


def _compare(campaigns: Campaigns) -> ComparedCampaigns:
    ids = sorted(set(campaigns.campaigns))
    compared = compared_campaigns(ids)
    missing = set(ids) - {row.pk for row in compared.rows}
    if missing or len(ids) < 2:
        title = f"There is no campaign {min(missing)}" if missing else "One campaign alone cannot be compared"
        raise ProblemError(422, title, where="query campaigns", right="the numbers of at least two campaigns")
    return compared
