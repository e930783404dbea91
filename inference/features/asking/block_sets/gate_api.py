"""Accuracy as a gate over HTTP: what the columns of a set score as a baseline, and held against one."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.asking.block_sets.accuracy_api import Name, accuracy_or_refuse
from inference.features.asking.block_sets.gate import DEFAULT_TOLERANCE, MOST_TOLERANCE, baseline_of, judged
from inference.formats.accuracy_baseline import AccuracyBaseline
from inference.models import BasicBlockSet
from inference.web.api.access import READS, reading
from inference.web.api.shapes import Input
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
    """What a column scored."""

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


@router.post(
    "/block-sets/{block_set_id}/accuracy/baseline/judged",
    response=GateResultOut,
    auth=reading,
    openapi_extra=READS,
)
def judge_columns(request: HttpRequest, block_set_id: Id, data: ColumnsToJudge) -> Any:
    """Hold the columns of a set against a baseline: those that are worse, and why. It changes nothing."""
    row = get_object_or_404(BasicBlockSet, pk=block_set_id)
    found, judge = accuracy_or_refuse(row, data.baseline.reference)
    return judged(data.baseline, baseline_of(row, judge, found), data.tolerance, data.columns).as_json()
