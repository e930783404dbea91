"""The accuracy of a basic-block set's columns against one of them, and against a baseline, in the API."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import column_named
from inference.features.asking.block_sets.query import columns_of
from inference.features.judging.column_accuracy.accuracy import KIND, baseline_of, known_accuracy
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, MAX_TOLERANCE, judge_against_baseline
from inference.features.running.runs.runs_of_kind import start_response
from inference.formats.accuracy_baseline import AccuracyBaseline
from inference.models import BasicBlockSet, BlockColumn
from inference.web.api.access import read_access
from inference.web.api.errors import ProblemError
from inference.web.api.result_shapes import HeatMapOut
from inference.web.api.shapes import Input, Ref, RunOut, Scores, parameter
from inference.web.validation import Id

router = Router()
_EXAMPLE = {
    "format": "pmweb-accuracy-baseline",
    "version": 1,
    "set": "sqlite",
    "blocks": 500,
    "digest": "0" * 64,
    "reference": "measured",
    "numbers": 498,
    "columns": [{"name": "llvm-mca 22 · znver2", "answered": 457, "mape": 23.6, "kendall": 0.76}],
}
Name = parameter(
    ..., min_length=1, max_length=200, description="Name of the reference column.", examples=["measured"]
)


class ColumnAccuracyOut(Scores):
    """A column compared with the reference, on the blocks for which both have a number."""

    column: Ref
    numbers: int = Field(description="Blocks for which it has a number, compared or not.", examples=[390])
    failures: int = Field(examples=[10])
    weighted_mape: float | None = Field(
        description="MAPE weighted by the blocks' weights; null without weights.", examples=[8.2]
    )
    heat_map: HeatMapOut
    worst: list[int] = Field(
        description="Positions of the blocks with the largest relative errors.", examples=[[17, 4]]
    )


class AccuracyOut(Schema):
    """All columns of a set compared with one of them."""

    block_set: Ref
    reference: Ref
    blocks: int = Field(examples=[400])
    numbers: int = Field(description="Blocks with a reference above 0.", examples=[398])
    zeros: int = Field(description="Blocks with a reference of 0 cycles, left out.", examples=[2])
    columns: list[ColumnAccuracyOut]


class Reference(Input):
    """The reference column that all columns are compared with."""

    reference: str = Field(min_length=1, max_length=200, examples=["measured"])


@router.get("/block-sets/{block_set_id}/accuracy", response=AccuracyOut)
def get_accuracy(request: HttpRequest, block_set_id: Id, reference: str = Name) -> Any:
    """Compare all columns of a set with one; 409 for a large set until a run has compared them."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    accuracy, column = accuracy_or_refuse(row, reference)
    columns = [_column(entry) for entry in accuracy["columns"]]
    return {**accuracy, "block_set": row, "reference": column, "columns": columns}


@router.post("/block-sets/{block_set_id}/accuracy", response={201: RunOut})
def find_accuracy(request: HttpRequest, block_set_id: Id, data: Reference) -> Any:
    """Start the run that compares the columns of a large set with one."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    config = {"block_set": row.pk, "reference": column_named(row, data.reference).pk}
    return start_response(request, KIND, config)


def accuracy_or_refuse(row: BasicBlockSet, reference: str) -> tuple[Json, BlockColumn]:
    """(all columns compared with the one of this name, that column).

    Raises `ExchangeError` for an unknown name, `ProblemError` (409) if a run has to compare them first.
    """
    column = column_named(row, reference)
    accuracy = known_accuracy(row, columns_of(row), column).accuracy
    if accuracy is None:
        raise ProblemError(
            409,
            f"The columns of {row.name!r} have not been compared with {reference!r} yet",
            where="path block_set_id",
            right=f"POST the reference to /block-sets/{row.pk}/accuracy, and wait for the run",
        )
    return accuracy, column


def _column(column: Json) -> Json:
    return {
        **column["scores"],
        "column": {"id": column["column"], "name": column["name"]},
        "numbers": column["answered"],
        "failures": column["failed"],
        "weighted_mape": column["weighted"],
        "heat_map": column["heat_map"],
        "worst": column["worst"],
    }


class ColumnsToJudge(Input):
    """A baseline, and the tolerance of a larger MAPE."""

    baseline: AccuracyBaseline = Field(
        description="A baseline as the same URL returns it without `/judged`.", examples=[_EXAMPLE]
    )
    tolerance: float = Field(
        default=DEFAULT_TOLERANCE,
        ge=0,
        le=MAX_TOLERANCE,
        description="Allowed increase of the MAPE in percentage points.",
        examples=[0.5],
    )
    columns: list[str] = Field(
        default=[], max_length=1000, description="Columns to judge; empty: all.", examples=[[]]
    )


class ColumnScoresOut(Schema):
    answered: int = Field(examples=[457])
    mape: float | None = Field(examples=[23.6])
    kendall: float | None = Field(examples=[0.76])


class ColumnVerdictOut(Schema):
    """A column compared with its baseline."""

    name: str = Field(examples=["llvm-mca 22 · znver2"])
    worse: bool = Field(examples=[True])
    reasons: list[str] = Field(examples=[["MAPE 25.10 % instead of 23.60 %: more than 0.5 points worse"]])
    before: ColumnScoresOut
    now: ColumnScoresOut


class GateResultOut(Schema):
    """Whether the columns of a set are as accurate as in a baseline."""

    set: str = Field(examples=["sqlite"])
    reference: str = Field(examples=["measured"])
    tolerance: float = Field(examples=[0.5])
    numbers_before: int = Field(
        description="Blocks with a reference above 0, in the baseline.", examples=[498]
    )
    numbers: int = Field(description="Blocks with a reference above 0, at present.", examples=[498])
    worse: list[str] = Field(description="Columns that do not pass.", examples=[["llvm-mca 22 · znver2"]])
    columns: list[ColumnVerdictOut]
    added: list[str] = Field(description="Columns not in the baseline; not judged.", examples=[[]])


@router.get("/block-sets/{block_set_id}/accuracy/baseline", response=AccuracyBaseline)
def get_baseline(
    request: HttpRequest,
    block_set_id: Id,
    reference: str = Name,
    column: Query[list[str]] = [],  # noqa: B006 ninja copies it
) -> Any:
    """The accuracy of all columns (or of each `column`) as the file that `block-sets --baseline` reads."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    accuracy, reference_column = accuracy_or_refuse(row, reference)
    return baseline_of(row, reference_column, accuracy, column)


@router.post("/block-sets/{block_set_id}/accuracy/baseline/judged", response=GateResultOut, auth=read_access)
def judge_columns(request: HttpRequest, block_set_id: Id, data: ColumnsToJudge) -> Any:
    """Compare the columns of a set with a baseline: which are worse, and why. Stores nothing."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    accuracy, reference_column = accuracy_or_refuse(row, data.baseline.reference)
    return judge_against_baseline(
        data.baseline, baseline_of(row, reference_column, accuracy), data.tolerance, data.columns
    ).as_json()
