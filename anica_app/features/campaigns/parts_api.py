"""What a campaign has found and sampled: discoveries, the best of them, rounds with their blocks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.campaigns.query import DISCOVERY_ORDERS, discoveries, rounds
from anica_app.features.coverage.query import (
    KIND,
    Measure,
    coverage_config,
    coverage_runs,
    measure_of,
    measure_of_run,
    sorted_by_coverage,
)
from anica_app.features.discoveries.generalisations import BY_BLOCK, sample_page, samples_of_batch
from anica_app.features.discoveries.query import judged
from anica_app.features.discoveries.shapes import DiscoveryOut, JudgedBlockOut, discovery_json, judged_json
from anica_app.models import Campaign, Discovery, SampleBatch
from anica_app.storage.judging import judge_of
from inference.core.protocols import Json
from inference.features.running.runs.runs_of_kind import started
from inference.models import BasicBlockSet
from inference.storage.instruction_sets import code_isa
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, check_cursor, number_of_page, page_json, sorts
from inference.web.api.shapes import Input, RunOut, parameter
from inference.web.paging import Order
from inference.web.validation import Id

router = Router()
COVERAGE = "coverage"
DiscoverySort = Annotated[str, sorts([*DISCOVERY_ORDERS, COVERAGE])]
Over = parameter(
    None, ge=0, le=2**63 - 1, description="A run of kind `coverage`; the newest without.", examples=[9]
)


class DiscoveriesOut(PageOf[DiscoveryOut]):
    """Part of a campaign's discoveries. `covered` of each is out of `blocks`, described by `over`."""

    over: str | None = Field(examples=["interesting random blocks of the campaign itself"])
    blocks: int | None = Field(examples=[212])


class SizeOut(Schema):
    """What the best k discoveries cover together."""

    k: int = Field(examples=[2])
    covered: int = Field(examples=[180])
    proven: bool = Field(description="Whether no other choice covers more.", examples=[True])


class BestSelectionOut(Schema):
    """The k discoveries that together include most of the blocks, and what other numbers would."""

    coverage: Id = Field(description="The run that found it out.")
    over: str = Field(examples=["interesting random blocks of the campaign itself"])
    blocks: int = Field(examples=[212])
    k: int = Field(examples=[2])
    covered: int = Field(examples=[180])
    proven: bool = Field(examples=[True])
    discoveries: list[DiscoveryOut]
    sizes: list[SizeOut]


class NewCoverageOfCampaign(Input):
    """Over which blocks: those of a set, or the campaign's own random ones."""

    block_set: Id | None = Field(
        None, description="One with a column of each of the campaign's predictors.", examples=[None]
    )


class BatchOut(Schema):
    """Blocks that were judged together: a round of fresh ones, or those of another purpose."""

    number: int = Field(examples=[0])
    purpose: str = Field(description="round, minimisation, discovery or other.", examples=["round"])
    discovery_id: Id | None
    n: int = Field(examples=[500])
    interesting: int | None = Field(examples=[34])
    failed: int = Field(description="Attempts to sample that came to nothing.", examples=[2])
    facts: dict[str, Any] = Field(examples=[{"seconds": 3.2}])


@router.get("/campaigns/{campaign_id}/discoveries", response=DiscoveriesOut)
def list_discoveries(
    request: HttpRequest,
    campaign_id: Id,
    paging: Query[Paging],
    subsumed: bool = parameter(False, description="Those that others include as well.", examples=[False]),
    coverage: int | None = Over,
    sort: DiscoverySort = "-interestingness",
) -> Any:
    """What a campaign has discovered, each with how many blocks it includes, where that is known."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    measure = measure_of(row, coverage)
    order = Order.of(sort)
    if order.column == COVERAGE:
        known = _needed(measure)
        page = sorted_by_coverage(row, known, order, number_of_page(paging), paging.limit, subsumed=subsumed)
    else:
        check_cursor(paging)
        page = discoveries(row, order, paging.cursor, subsumed=subsumed, size=paging.limit)
    covered = None if measure is None else measure.by_discovery
    return {
        **page_json(page, [discovery_json(one, covered) for one in page.rows]),
        "over": None if measure is None else measure.over,
        "blocks": None if measure is None else measure.blocks,
    }


@router.get("/campaigns/{campaign_id}/best", response=BestSelectionOut)
def get_best_selection(
    request: HttpRequest,
    campaign_id: Id,
    k: int = parameter(10, ge=1, le=1000, description="How many discoveries.", examples=[2]),
    coverage: int | None = Over,
) -> Any:
    """The k discoveries that together cover the most of what was looked at; fewer where fewer suffice."""
    row = get_object_or_404(Campaign, pk=campaign_id)
    runs = coverage_runs([row.pk], coverage)
    _needed(None if runs.shown is None else measure_of_run(runs))
    assert runs.shown is not None
    measure, sizes = measure_of_run(runs), runs.result["best"]
    k = min(k, len(sizes))
    best: Json = sizes[k - 1] if sizes else {"chosen": [], "covered": 0, "proven": True}
    rows = Discovery.listed().in_bulk(best["chosen"])
    chosen = [discovery_json(rows[pk], measure.by_discovery) for pk in best["chosen"] if pk in rows]
    return {
        **best,
        "coverage": runs.shown.pk,
        "over": measure.over,
        "blocks": measure.blocks,
        "k": k,
        "discoveries": chosen,
        "sizes": [{**size, "k": number} for number, size in enumerate(sizes, start=1)],
    }


@router.post("/campaigns/{campaign_id}/coverages", response={201: RunOut})
def start_coverage_of_campaign(request: HttpRequest, campaign_id: Id, data: NewCoverageOfCampaign) -> Any:
    """Start to look how many blocks the discoveries of a campaign include, and which of them the most.

    `GET /coverages` lists what was found out. `POST /coverages` takes several campaigns and any columns.
    """
    row = get_object_or_404(Campaign, pk=campaign_id)
    over = None if data.block_set is None else get_object_or_404(BasicBlockSet, pk=data.block_set)
    return started(request, KIND, coverage_config(row, over), f"Coverage of {row.name}"[:180])


@router.get("/campaigns/{campaign_id}/batches", response=PageOf[BatchOut])
def list_batches(request: HttpRequest, campaign_id: Id, paging: Query[Paging]) -> Any:
    """What a campaign has sampled outside of generalisations, in order."""
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
        BY_BLOCK, description="As sampled, by length in bytes, or by what the first or second tool says."
    ),
) -> Any:
    """The blocks of such a batch, with every tool's answer and whether they are interesting."""
    rows = SampleBatch.objects.select_related("campaign__isa")
    batch = get_object_or_404(rows, campaign=campaign_id, number=number)
    names = [tool.name for tool in batch.campaign.tools]
    page = sample_page(
        samples_of_batch(batch),
        sort.removeprefix("-"),
        descending=sort.startswith("-"),
        number=number_of_page(paging),
        size=paging.limit,
    )
    examined = judged(judge_of(batch.campaign), page.rows, len(names))
    isa = code_isa(batch.campaign.isa)
    return page_json(page, [judged_json(one, isa, names) for one in examined])


def _needed(measure: Measure | None) -> Measure:
    if measure is None:
        raise ProblemError(
            409,
            "Nobody has looked yet which blocks these discoveries include",
            where="path campaign_id",
            right="POST to its /coverages, and wait for the run",
        )
    return measure
