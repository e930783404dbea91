"""Basic-block sets with their blocks and columns."""

from __future__ import annotations

from typing import Any, Literal

from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status
from pydantic import Field

from inference.features.asking.block_sets.columns import KIND as NEW_COLUMNS
from inference.features.asking.block_sets.job import MAX_PREDICTORS
from inference.features.asking.block_sets.query import (
    SET_ORDERS,
    BlockFilter,
    ColumnKind,
    ColumnNumbers,
    block_orders,
    block_sets,
    blocks_of,
    column_order,
    columns_of,
    numbers_of,
)
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode
from inference.features.asking.predictors.offers import predictors_named
from inference.features.running.runs.runs_of_kind import NameOfRun, start_response
from inference.models import BasicBlockSet, BlockColumn
from inference.storage.block_sets import export
from inference.storage.instruction_sets import code_isa
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.api.answers import SetBlockOut, block_json
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedOut, NamedRows
from inference.web.api.paging import PageOf, Paging, check_cursor, page_json
from inference.web.api.shapes import Input, Name, Ref, RowOut, RunOut, Text, fields_of, parameter
from inference.web.file_answers import streamed_table
from inference.web.paging import Order
from inference.web.validation import Id

router = Router()


class BlockSetOut(NamedOut):
    """A named list of basic blocks with a column of answers per predictor."""

    name: Name = Field(examples=["BHive, Haswell"])
    run_id: Id | None = Field(description="Id of the run that created or imported it.", examples=[12])
    origin: str = Field(description="Origin: upload or run.", examples=["upload"])
    source: str = Field(examples=["hsw.csv, basic blocks (CSV)"])
    blocks: int = Field(validation_alias="size", examples=[100_000])
    columns: int = Field(validation_alias="column_count", examples=[3])


class BlockColumnOut(RowOut):
    """A column: for how many blocks it has a number, and the range of its numbers in cycles."""

    id: Id
    name: Name = Field(examples=["llvm-mca 22"])
    predictor: Ref | None = Field(description="Null for a column that came with a file.")
    numbers: int = Field(examples=[99_000])
    failures: int = Field(examples=[900])
    not_asked: int = Field(validation_alias="nothing", examples=[100])
    least: float | None = Field(examples=[0.25])
    most: float | None = Field(examples=[104.5])


class BlockSetInFull(BlockSetOut):
    """A set with its columns and its import report."""

    isa: Ref | None
    column_list: list[BlockColumnOut]
    report: dict[str, Any] = Field(
        description="Excluded rows, duplicates, and answers below the minimum that the processor needs.",
        examples=[{"left_out": 1, "problem_count": 1, "duplicates": 0, "doubt_counts": {"osaca": 27}}],
    )


class NewColumns(Input):
    """Predictors that answer for all blocks of a set."""

    predictors: list[str] = Field(
        min_length=1,
        max_length=MAX_PREDICTORS,
        description="Names of predictors.",
        examples=[["llvm-mca 22 · haswell"]],
    )
    mode: QuestionMode = AS_NAMED
    name: NameOfRun = ""


BLOCK_SETS = NamedRows(router, "/block-sets", "block_set", block_sets, BlockSetOut)
BLOCK_SETS.add_list(
    SET_ORDERS,
    "-newest",
    """All basic-block sets; with `q`, those with this text in name or note.

    To create one, upload a CSV file and start a run of the kind `import-anica`.
    """,
)
BLOCK_SETS.add_changes("Delete a set with its blocks and columns, unless an unfinished run needs it.")


@router.get("/block-sets/{block_set_id}", response=BlockSetInFull)
def get_block_set(request: HttpRequest, block_set_id: Id) -> Any:
    """One set with its columns and import report."""
    row = BLOCK_SETS.row(block_set_id)
    columns = [_column(column, numbers) for column, numbers in numbers_of(row, columns_of(row))]
    return {**BLOCK_SETS.answer(row), "isa": row.isa, "column_list": columns, "report": row.report}


@router.get("/block-sets/{block_set_id}/blocks", response=PageOf[SetBlockOut])
def list_set_blocks(
    request: HttpRequest,
    block_set_id: Id,
    paging: Query[Paging],
    q: Text = "",
    length: int | None = parameter(None, ge=1, le=10_000, examples=[4]),
    column: str = parameter("", max_length=200, description="Name of a column."),
    told: Literal["", "number", "failure", "nothing"] = parameter(
        "", description="Only blocks for which that column has this outcome."
    ),
    sort: str = parameter(
        "position",
        max_length=210,
        description="position, length, weight, or column:NAME; a minus before it for descending.",
    ),
) -> Any:
    """The blocks of a set with the answers of all columns.

    `q` looks for mnemonics: `imul` for blocks with one, `vp*` for any that begins so, `-div` for blocks
    without. Sorted by a column, only blocks with a number in it are listed.
    """
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    columns = columns_of(row)
    check_cursor(paging)
    block_filter = BlockFilter(
        q,
        length,
        _column_named(columns, column, "column").pk if column else None,
        ColumnKind(told) if told else None,
    )
    page = blocks_of(row, columns, block_filter, _order(columns, sort), paging.cursor, paging.limit)
    isa = code_isa(row.isa)
    return page_json(page, [block_json(entry.block, isa, entry.answers, columns) for entry in page.rows])


@router.get("/block-sets/{block_set_id}/exports/csv", response=str, openapi_extra={FILE: "text/csv"})
def export_block_set(request: HttpRequest, block_set_id: Id) -> StreamingHttpResponse:
    """The whole set as CSV (docs/formats.md), which imports again."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    access.log_action(request, AuditAction.EXPORTED, row)
    return streamed_table(export(row), row.name)


@router.post("/block-sets/{block_set_id}/columns", response={201: RunOut})
def add_block_columns(request: HttpRequest, block_set_id: Id, data: NewColumns) -> Any:
    """Start a run that asks predictors for all blocks of a set and adds a column for each."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    with transaction.atomic():  # no predictor is stored for columns that are refused
        ids = [predictor.pk for predictor in predictors_named(data.predictors)]
        config = {"block_set": row.pk, "predictors": ids, "mode": data.mode}
        return start_response(request, NEW_COLUMNS, config, data.name)


@router.delete("/block-sets/{block_set_id}/columns/{column_id}", response={204: None})
def delete_block_column(request: HttpRequest, block_set_id: Id, column_id: Id) -> Any:
    """Delete a column of a set with its answers."""
    row = get_object_or_404(
        BlockColumn.objects.select_related("block_set"), pk=column_id, block_set=block_set_id
    )
    row.delete()
    access.log_action(request, AuditAction.CHANGED, row.block_set)
    return Status(204, None)


def _column_named(columns: list[BlockColumn], name: str, where: str) -> BlockColumn:
    match = next((column for column in columns if column.name == name), None)
    if match is None:
        column_names = ", ".join(column.name for column in columns) or "it has none"
        raise ProblemError(
            422, f"There is no column {name[:80]!r}", where=f"query {where}", right=column_names
        )
    return match


def _order(columns: list[BlockColumn], sort: str) -> Order:
    name = sort.removeprefix("-")
    by_column = name.removeprefix("column:")
    key = column_order(_column_named(columns, by_column, "sort").pk) if by_column != name else name
    orders = block_orders(columns)
    if key not in orders:
        raise ProblemError(
            422, f"{sort[:80]!r} is no order", where="query sort", right="position, length, column:NAME"
        )
    return Order(key, sort.startswith("-"))


def _column(column: BlockColumn, numbers: ColumnNumbers) -> dict[str, Any]:
    of_column = {name: getattr(column, name) for name in ("id", "name", "predictor")}
    return fields_of(numbers, BlockColumnOut, **of_column)
