"""Comparisons of any sources on any items by the API: started, and seen in any view."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemSelection
from inference.core.metrics import Unit as Units
from inference.features.judging.engine.query import (
    ComparisonPart,
    columns_of,
    comparison_rows,
    schemes_found,
    selected,
)
from inference.features.judging.engine.request import ALL_KINDS, KIND, JudgeConfig
from inference.features.judging.engine.view_values import ViewQuestion, view_json
from inference.features.judging.engine.views import VIEWS
from inference.features.running.runs.runs_of_kind import NameOfRun, not_done, started
from inference.isa.search import SearchError
from inference.models import Comparison, Run
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import RunOut, Text, parameter
from inference.web.validation import Id

router = Router()

ViewName = parameter("scores", max_length=20, description=f"One of {', '.join(VIEWS)}.", examples=["worst"])
Column = parameter(
    None,
    ge=0,
    le=100,
    description="Place of the source that is looked at; the first beside the reference.",
    examples=[0],
)


class NewJudgement(JudgeConfig):
    """Whose items are compared, by which sources, and against what."""

    name: NameOfRun = ""


class PartOfComparison(Schema):
    """Which items to look at, in which unit."""

    unit: Units = Field(Units.CYCLES, description="cycles, cpi or ipc.")
    shortest: int | None = Field(None, ge=1, description="Instructions at least.", examples=[2])
    longest: int | None = Field(None, ge=1, description="Instructions at most.", examples=[5])
    q: Text = Field("", description="Experiments with schemes that this search finds.", examples=["ext:AVX2"])
    only: bool = Field(False, description="Experiments without any other scheme than these.")
    common: bool = Field(False, description="Only what every predictor answered.")
    bound: Text = Field("", description="Items with this largest bound.", examples=["ports"])
    apart: float = Field(0.0, ge=0, description="Items with at least this relative error.", examples=[0.25])
    against: int | None = Field(
        None, ge=0, le=100, description="Place of the source that others are held against.", examples=[1]
    )


class DisagreementLimit(Schema):
    threshold: float = Field(0.5, ge=0, description="Their difference, at least.", examples=[0.5])
    metric: DifferenceMetric = Field(
        DifferenceMetric.RELATIVE, description="relative: by the mean of both; absolute: in cycles."
    )


class ViewTableOut(Schema):
    """A table of a view; rows have a value per column, null where there is none."""

    key: str = Field(examples=["worst"])
    title: str = Field(examples=["uiCA: largest errors"])
    note: str = Field(examples=[""])
    columns: list[str] = Field(examples=[["Item", "measured", "uiCA", "Error (%)"]])
    rows: list[list[str | float | None]] = Field(examples=[[["imul rax, rbx", 3.0, 1.0, -66.7]]])


class ViewOut(Schema):
    """One view of a comparison."""

    run: Id
    view: str = Field(examples=["worst"])
    items: str = Field(description="experiments or blocks.", examples=["blocks"])
    source: str = Field(description="The set that they are of.", examples=["sqlite"])
    reference: str = Field(description="What sources are held against.", examples=["measured"])
    column: str = Field(description="The source that is looked at.", examples=["uiCA"])
    n: int = Field(examples=[2000])
    selected: int = Field(description="Items that are looked at.", examples=[328])
    tables: list[ViewTableOut]


@router.post("/comparisons", response={201: RunOut})
def start_judging(request: HttpRequest, data: NewJudgement) -> Any:
    """Start to compare sources: `mapping:7`, `core-model:2`, `predictor:uiCA`, `column:17`, `tool:IACA` …"""
    with transaction.atomic():  # no predictor is stored for a comparison that is refused
        config = data.model_dump(exclude={"name"})
        return started(request, KIND, config, "Comparison through the API", data.name)


@router.get("/comparisons/{comparison_id}", response=ViewOut)
def get_view(
    request: HttpRequest,
    comparison_id: Id,
    part: Query[PartOfComparison],
    limit: Query[DisagreementLimit],
    view: str = ViewName,
    column: int | None = Column,
) -> Any:
    """A comparison in one of its views."""
    row = comparison_of_run(comparison_id)
    columns = columns_of(row)
    if view not in VIEWS:
        raise ProblemError(422, "There is no such view", where="query view", right=", ".join(VIEWS))
    looked = part_of(row, part)
    offered = [one for one in columns if one.position != looked.against]
    of_view = next((one for one in offered if column in (None, one.position)), None)
    if of_view is None:
        places = ", ".join(str(one.position) for one in offered)
        right = f"the place of a source that is not the reference: {places}"
        raise ProblemError(422, "There is no such source", where="query column", right=right)
    question = ViewQuestion(row, columns, of_view, looked, limit.threshold, limit.metric.value)
    return view_json(VIEWS[view], question, selected(row, question.part.selection))


def comparison_of_run(run: int) -> Comparison:
    """The comparison that a run has made. Raises `ProblemError` (409) where it is not done."""
    row = get_object_or_404(Run, pk=run, kind__in=ALL_KINDS)
    comparison = comparison_rows().filter(run=row).first()
    if comparison is None:
        raise not_done(row, "comparison_id")
    return comparison


def part_of(row: Comparison, part: PartOfComparison) -> ComparisonPart:
    """What is looked at. Raises `ProblemError` (422) for what the comparison has not."""
    try:
        schemes = schemes_found(row, part.q.strip()) if part.q.strip() else None
    except SearchError as error:
        raise ProblemError(422, str(error), where="query q") from error
    size = row.columns.count() if part.against is not None else 0
    if part.against is not None and part.against >= size:
        right = f"a number below {size}"
        raise ProblemError(422, "There is no such source", where="query against", right=right)
    selection = ItemSelection(
        part.shortest,
        part.longest,
        schemes,
        part.only and schemes is not None,
        part.common,
        part.bound,
        part.apart,
    )
    return ComparisonPart(part.unit, selection, part.against)
