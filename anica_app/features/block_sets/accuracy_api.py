"""How well the columns of a basic-block set agree with one of them, and what files would become a set."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from anica_app.features.block_sets.accuracy import (
    KIND,
    Accuracy,
    ColumnAccuracy,
    accuracy_known,
    column_named,
)
from anica_app.features.block_sets.query import columns_of
from anica_app.features.block_sets.recognition import look_apart, sort_apart
from anica_app.formats.incoming import Sort
from inference.features.judging.evaluations.api import HeatMapOut
from inference.features.library.uploads.api import FileProblemOut
from inference.features.library.uploads.query import waiting_uploads
from inference.features.running.runs.api import RunOut
from inference.features.running.runs.runs_of_kind import started
from inference.models import BasicBlockSet, BlockColumn
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Input, Ref, Scores, parameter, ref
from inference.web.validation import Id

router = Router()
Name = parameter(..., min_length=1, max_length=200, description="A column's name.", examples=["measured"])


class ColumnAccuracyOut(Scores):
    """A column beside the reference, on the blocks for which both have a number."""

    column: Ref
    numbers: int = Field(description="Blocks for which it has a number, compared or not.", examples=[390])
    failures: int = Field(examples=[10])
    weighted_mape: float | None = Field(
        description="MAPE in which each block counts by its weight; null where none has one.", examples=[8.2]
    )
    heat_map: HeatMapOut
    worst: list[int] = Field(
        description="Places of the blocks with the largest relative errors.", examples=[[17, 4]]
    )


class AccuracyOut(Schema):
    """All columns of a set beside one of them."""

    block_set: Ref
    reference: Ref
    blocks: int = Field(examples=[400])
    numbers: int = Field(description="Blocks with a reference above 0.", examples=[398])
    zeros: int = Field(description="Blocks with a reference of 0 cycles, left out.", examples=[2])
    columns: list[ColumnAccuracyOut]


class Reference(Input):
    """What the columns are compared with."""

    reference: str = Field(min_length=1, max_length=200, examples=["measured"])


class FileColumnOut(Schema):
    """A column of a file, its numbers as they would be stored."""

    name: str = Field(examples=["llvm-mca 13"])
    scale: str = Field(description="cycles, hundredths (of 100 executions) or weight.", examples=["cycles"])
    looks: str = Field(description="What its numbers look like, which changes nothing.", examples=["cycles"])
    numbers: int = Field(examples=[100])
    failures: int = Field(examples=[2])
    least: float | None = Field(examples=[0.25])
    most: float | None = Field(examples=[37.0])


class FileRowOut(Schema):
    """One of the first rows of a file."""

    row: int = Field(examples=[2])
    hex: str = Field(examples=["4801d8"])
    numbers: list[float | None] = Field(examples=[[1.03, -1.0]])


class BlockFileOut(Schema):
    """What an uploaded file with basic blocks would bring."""

    rows: int = Field(examples=[99_999])
    left_out: int = Field(description="Rows that cannot be read.", examples=[1])
    empty: int = Field(description="Rows without a block, passed over.", examples=[0])
    instructions: int = Field(examples=[420_000])
    duplicates: int = Field(examples=[3])
    columns: list[FileColumnOut]
    problem_count: int = Field(examples=[1])
    problems: list[FileProblemOut]
    doubts: dict[str, int] = Field(
        description="By column, answers below what a processor needs.", examples=[{"osaca": 27}]
    )
    first: list[FileRowOut]


@router.get("/{block_set_id}/accuracy", response=AccuracyOut)
def get_accuracy(request: HttpRequest, block_set_id: Id, reference: str = Name) -> Any:
    """Compare all columns of a set with one. A large set needs a run for that: until then, 409 says so."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    known, column = accuracy_or_refuse(row, reference)
    return _accuracy(known, row, column)


@router.post("/{block_set_id}/accuracy", response={201: RunOut})
def find_accuracy(request: HttpRequest, block_set_id: Id, data: Reference) -> Any:
    """Start the run that compares the columns of a large set with one."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    config = {"block_set": row.pk, "reference": column_named(row, data.reference).pk}
    return started(request, KIND, config, f"Columns of {row.name} compared"[:180])


@router.get("/files/{block_file_id}", response=BlockFileOut)
def preview_block_file(
    request: HttpRequest,
    block_file_id: Id,
    broken: Literal["stop", "skip"] = "skip",
    issue_width: float | None = parameter(
        None, gt=0, le=1000, description="Instructions per cycle.", examples=[8]
    ),
) -> Any:
    """What an uploaded CSV file with basic blocks would become, by the number of the upload.

    It is read to its end.
    """
    upload = get_object_or_404(waiting_uploads().defer(None), pk=block_file_id)
    content = bytes(upload.content)
    if sort_apart(content) is not Sort.BLOCKS:
        raise ProblemError(
            422,
            f"{upload.file_name} holds no basic blocks",
            where="path block_file_id",
            right="a CSV file with machine code or assembly in its first column",
        )
    return look_apart(content, upload.file_name, broken, issue_width)


def accuracy_or_refuse(row: BasicBlockSet, reference: str) -> tuple[Accuracy, BlockColumn]:
    """All columns beside the one of this name, and that one.

    Raises `ExchangeError` for another name, `ProblemError` (409) where a run has to compare them first.
    """
    column = column_named(row, reference)
    known = accuracy_known(row, columns_of(row), column).accuracy
    if known is None:
        raise ProblemError(
            409,
            f"The columns of {row.name!r} have not been compared with {reference!r} yet",
            where="path block_set_id",
            right=f"POST the reference to /block-sets/{row.pk}/accuracy, and wait for the run",
        )
    return known, column


def _accuracy(known: Accuracy, row: BasicBlockSet, reference: Any) -> dict[str, Any]:
    return {
        "block_set": ref(row),
        "reference": ref(reference),
        "blocks": known.blocks,
        "numbers": known.numbers,
        "zeros": known.zeros,
        "columns": [_column(one) for one in known.columns],
    }


def _column(one: ColumnAccuracy) -> dict[str, Any]:
    return {
        **one.scores.as_json(),
        "column": {"id": one.column, "name": one.name},
        "numbers": one.answered,
        "failures": one.failed,
        "weighted_mape": one.weighted,
        "heat_map": one.heat_map.as_json(),
        "worst": list(one.worst),
    }
