"""How well the columns of a basic-block set agree with one of them, and with a baseline."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import column_named
from inference.features.asking.block_sets.query import columns_of
from inference.features.judging.column_accuracy.accuracy import KIND, accuracy_known, baseline_of
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, MOST_TOLERANCE, judged
from inference.features.running.runs.runs_of_kind import started
from inference.formats.accuracy_baseline import AccuracyBaseline
from inference.models import BasicBlockSet, BlockColumn
from inference.web.api.access import reading
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


@router.get("/block-sets/{block_set_id}/accuracy", response=AccuracyOut)
def get_accuracy(request: HttpRequest, block_set_id: Id, reference: str = Name) -> Any:
    """Compare all columns of a set with one. A large set needs a run for that: until then, 409 says so."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    known, column = accuracy_or_refuse(row, reference)
    columns = [_column(entry) for entry in known["columns"]]
    return {**known, "block_set": row, "reference": column, "columns": columns}


@router.post("/block-sets/{block_set_id}/accuracy", response={201: RunOut})
def find_accuracy(request: HttpRequest, block_set_id: Id, data: Reference) -> Any:
    """Start the run that compares the columns of a large set with one."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    config = {"block_set": row.pk, "reference": column_named(row, data.reference).pk}
    return started(request, KIND, config, f"Columns of {row.name} compared"[:180])


def accuracy_or_refuse(row: BasicBlockSet, reference: str) -> tuple[Json, BlockColumn]:
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
    """A baseline, and by how much a MAPE may be larger than there."""

    baseline: AccuracyBaseline = Field(
        description="As the same address answers it without `/judged`.", examples=[_EXAMPLE]
    )
    tolerance: float = Field(
        default=DEFAULT_TOLERANCE, ge=0, le=MOST_TOLERANCE, description="Percentage points.", examples=[0.5]
    )
    columns: list[str] = Field(
        default=[], max_length=1000, description="Judged alone; all where it is empty.", examples=[[]]
    )


class ColumnScoresOut(Schema):
    answered: int = Field(examples=[457])
    mape: float | None = Field(examples=[23.6])
    kendall: float | None = Field(examples=[0.76])


class ColumnVerdictOut(Schema):
    """A column beside its baseline."""

    name: str = Field(examples=["llvm-mca 22 · znver2"])
    worse: bool = Field(examples=[True])
    reasons: list[str] = Field(examples=[["MAPE 25.10 % instead of 23.60 %: more than 0.5 points worse"]])
    before: ColumnScoresOut
    now: ColumnScoresOut


class GateResultOut(Schema):
    """Whether the columns of a set are as good as they were."""

    set: str = Field(examples=["sqlite"])
    reference: str = Field(examples=["measured"])
    tolerance: float = Field(examples=[0.5])
    numbers_before: int = Field(description="Blocks with a reference above 0.", examples=[498])
    numbers: int = Field(description="The same now.", examples=[498])
    worse: list[str] = Field(
        description="Columns that do not pass; empty where all do.", examples=[["llvm-mca 22 · znver2"]]
    )
    columns: list[ColumnVerdictOut]
    added: list[str] = Field(
        description="Columns that the baseline does not have, not judged.", examples=[[]]
    )


@router.get("/block-sets/{block_set_id}/accuracy/baseline", response=AccuracyBaseline)
def get_baseline(
    request: HttpRequest,
    block_set_id: Id,
    reference: str = Name,
    column: Query[list[str]] = [],  # noqa: B006 ninja copies it
) -> Any:
    """The accuracy of all columns (or of each `column`) as the file that `block-sets --baseline` reads."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    found, judge = accuracy_or_refuse(row, reference)
    return baseline_of(row, judge, found, column)


@router.post("/block-sets/{block_set_id}/accuracy/baseline/judged", response=GateResultOut, auth=reading)
def judge_columns(request: HttpRequest, block_set_id: Id, data: ColumnsToJudge) -> Any:
    """Hold the columns of a set against a baseline: those that are worse, and why. It changes nothing."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    found, judge = accuracy_or_refuse(row, data.baseline.reference)
    return judged(data.baseline, baseline_of(row, judge, found), data.tolerance, data.columns).as_json()
