"""Tool × tool matrices over the API: how often each two tools disagree on the same blocks."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from anica_app.features.matrices.job import KIND, MatrixConfig
from inference.features.asking.block_sets.query import ORDERS, answers_of, differing_blocks
from inference.features.asking.predictors.offers import predictors_named
from inference.features.running.runs.runs_of_kind import NameOfRun, done_run, listed_runs, start_response
from inference.models import BlockColumn, Run
from inference.storage.instruction_sets import code_isa
from inference.web.api.answers import PredictorNames, SetBlockOut, block_json
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, allowed_sorts, check_cursor, page_json
from inference.web.api.shapes import RunOut, run_json
from inference.web.paging import Order
from inference.web.validation import Id

router = Router()
DifferingSort = Annotated[str, allowed_sorts(ORDERS)]


class NewMatrix(MatrixConfig):
    """The tools, and the blocks: those of a set, or new random ones, which become a set."""

    predictors: PredictorNames = []  # type: ignore[assignment]
    name: NameOfRun = ""


class MatrixToolOut(Schema):
    """A row and column of a matrix."""

    id: Id = Field(description="Id of the set's column.")
    name: str = Field(examples=["llvm-mca 22"])
    predictor: Id | None


class MatrixOut(Schema):
    """Of the `both[i][j]` blocks for which tools i and j gave a number, `differing[i][j]` differ by more than
    the threshold.
    """

    run: RunOut
    block_set: Id
    blocks: int = Field(examples=[2000])
    columns: list[MatrixToolOut]
    both: list[list[int]] = Field(examples=[[[2000, 1990], [1990, 1990]]])
    differing: list[list[int]] = Field(examples=[[[0, 240], [240, 0]]])


@router.post("/matrices", response={201: RunOut})
def start_matrix(request: HttpRequest, data: NewMatrix) -> Any:
    """Start to predict the same blocks with several tools, and count how often each two disagree."""
    with transaction.atomic():  # no predictor is stored for a matrix that is refused
        config = {
            **data.model_dump(exclude={"name"}),
            "predictors": [row.pk for row in predictors_named(data.predictors)],
        }
        return start_response(request, KIND, config, data.name)


@router.get("/matrices", response=PageOf[RunOut])
def list_matrices(request: HttpRequest, paging: Query[Paging]) -> Any:
    """The runs that compute matrices, newest first."""
    return listed_runs(Run.objects.filter(kind=KIND), paging)


@router.get("/matrices/{matrix_id}", response=MatrixOut)
def get_matrix(request: HttpRequest, matrix_id: Id) -> Any:
    """One matrix; 409 until it is done."""
    run = done_run(matrix_id, KIND, "matrix_id")
    names = ("block_set", "blocks", "columns", "both", "differing")
    return {"run": {**run_json(run), "result": {}}, **{name: run.result[name] for name in names}}


@router.get("/matrices/{matrix_id}/cells/{first}/{second}", response=PageOf[SetBlockOut])
def list_differing(
    request: HttpRequest,
    matrix_id: Id,
    first: Id,
    second: Id,
    paging: Query[Paging],
    sort: DifferingSort = "-difference",
) -> Any:
    """The blocks of a cell, on which its tools disagree; tools are numbered from 0."""
    run = done_run(matrix_id, KIND, "matrix_id")
    heads = run.result["columns"]
    ids = [heads[at]["id"] for at in (first, second) if at < len(heads)]
    rows = BlockColumn.objects.select_related("block_set__isa").in_bulk(ids)
    if first == second or len(rows) < 2:
        raise ProblemError(404, "There is no such cell, or its columns have been deleted", where="path first")
    check_cursor(paging)
    columns = [rows[pk] for pk in ids]
    interest = run.config["interest"]
    order = Order.of(sort)
    page = differing_blocks(
        columns[0], columns[1], interest["metric"], interest["threshold"], order, paging.cursor, paging.limit
    )
    isa = code_isa(columns[0].block_set.isa)
    return page_json(
        page, [block_json(row.block, isa, row.answers, columns) for row in answers_of(page.rows, columns)]
    )
