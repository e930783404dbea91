"""Coverage over the API: of basic-block sets, or of campaigns' own blocks, by the discoveries of
campaigns.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.coverage.job import CoverageConfig
from anica_app.features.coverage.query import KIND
from inference.features.asking.block_sets.query import answers_of, blocks_at, columns_of
from inference.features.running.runs.runs_of_kind import NameOfRun, done_run, listed_runs, start_response
from inference.models import BasicBlockSet, Run
from inference.storage.instruction_sets import code_isa
from inference.web.api.answers import SetBlockOut, block_json
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.shapes import RunOut, parameter, run_json
from inference.web.validation import Id

router = Router()


class NewCoverage(CoverageConfig):
    """Campaigns, and the blocks to cover: those of a set, else the campaigns' own."""

    name: NameOfRun = ""


class BestOut(Schema):
    """The best selection of one size: the discoveries with the largest joint coverage."""

    chosen: list[Id] = Field(examples=[[31, 12]])
    covered: int = Field(examples=[180])
    proven: bool = Field(description="Whether no other choice covers more.", examples=[True])


class CoverageOut(Schema):
    """The result of a coverage run. `strange`: interesting blocks with an instruction that has no scheme, not
    counted.
    """

    run: RunOut
    campaigns: list[Id] = Field(examples=[[4]])
    block_set: Id | None = Field(examples=[2])
    columns: list[str] = Field(examples=[["llvm-mca 13", "llvm-mca 22"]])
    blocks: int = Field(examples=[212])
    covered: int = Field(examples=[190])
    strange: int = Field(examples=[0])
    by_campaign: dict[str, int] = Field(examples=[{"4": 190}])
    by_discovery: dict[str, int] = Field(examples=[{"31": 120, "12": 60}])
    best: list[BestOut]


@router.post("/coverages", response={201: RunOut})
def start_coverage(request: HttpRequest, data: NewCoverage) -> Any:
    """Start to compute how many interesting blocks the discoveries of campaigns cover."""
    config = data.model_dump(exclude={"name"})
    return start_response(request, KIND, config, data.name)


@router.get("/coverages", response=PageOf[RunOut])
def list_coverages(
    request: HttpRequest,
    paging: Query[Paging],
    block_set: int | None = parameter(None, ge=0, le=2**63 - 1, examples=[2]),
    campaign: int | None = parameter(None, ge=0, le=2**63 - 1, examples=[4]),
) -> Any:
    """Coverage runs, newest first: over a set, of a campaign, or all."""
    rows = Run.objects.filter(kind=KIND)
    if block_set is not None:
        rows = rows.filter(config__block_set=block_set)
    if campaign is not None:
        campaigns_by_run = rows.values_list("pk", "config__campaigns")
        rows = rows.filter(pk__in=[pk for pk, campaigns in campaigns_by_run if campaign in campaigns])
    return listed_runs(rows, paging)


@router.get("/coverages/{coverage_id}", response=CoverageOut)
def get_coverage(request: HttpRequest, coverage_id: Id) -> Any:
    """The result of a coverage run; 409 until it is done."""
    run = done_run(coverage_id, KIND, "coverage_id")
    result = run.result
    return {
        "run": {**run_json(run), "result": {}},
        **{name: run.config[name] for name in ("campaigns", "block_set", "columns")},
        **{
            name: result[name]
            for name in ("blocks", "covered", "strange", "by_campaign", "by_discovery", "best")
        },
    }


@router.get("/coverages/{coverage_id}/uncovered", response=PageOf[SetBlockOut])
def list_uncovered(request: HttpRequest, coverage_id: Id, paging: Query[Paging]) -> Any:
    """The interesting blocks of a set that no discovery covers, the largest difference first.

    Each has the answers that make it interesting; its number is its place in the list of `blocks`.
    """
    run = done_run(coverage_id, KIND, "coverage_id")
    if run.config["block_set"] is None:
        raise ProblemError(
            409,
            "This coverage is of the campaigns' own blocks",
            where="path coverage_id",
            right="that of a basic-block set",
        )
    row = get_object_or_404(BasicBlockSet, pk=run.config["block_set"])
    isa = code_isa(row.isa)
    columns = [column for column in columns_of(row) if column.name in run.config["columns"]]
    return list_answer_in_memory(
        run.result.get("uncovered_at", []),
        paging,
        lambda places: [
            block_json(row_.block, isa, row_.answers, columns)
            for row_ in answers_of(blocks_at(row, places), columns)
        ],
    )
