"""Comparisons of predictors on the measurements of a set: scores, heat maps, biases, single experiments."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemSelection
from inference.core.metrics import Unit as Units
from inference.features.asking.predictors.offers import predictors_named
from inference.features.judging.engine.pages import answer_lines
from inference.features.judging.engine.query import (
    ComparisonPart,
    Predicted,
    ViewQuestion,
    answered_in,
    biases_in,
    columns_of,
    comparison_rows,
    heat_map_of,
    in_bin,
    key_of,
    length_maps_of,
    schemes_found,
    scores_of,
    selected,
    sheet_of,
)
from inference.features.judging.engine.request import (
    ALL_KINDS,
    BY_KIND_OF_COLUMN,
    KIND,
    KINDS,
    ComparisonConfig,
    JudgeConfig,
)
from inference.features.judging.engine.views import VIEWS, view_json
from inference.features.running.runs.runs_of_kind import NameOfRun, listed_runs, not_done, started
from inference.isa.search import SearchError
from inference.models import ComparedColumn, Comparison, Run
from inference.web.api.answers import PredictorNames
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.result_shapes import HeatMapOut, PredictedOut
from inference.web.api.shapes import Ref, RunOut, SchemeText, Scores, Text, parameter, ref, run_json
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


class NewComparison(ComparisonConfig):
    """Whose experiments, and who predicts them: rows of this site, annotations of the set, tools to ask."""

    predictors: PredictorNames = []  # type: ignore[assignment]
    name: NameOfRun = ""


class LackOut(Schema):
    """Why some experiments have no answer."""

    reason: str = Field(examples=["unsupported"])
    n: int = Field(examples=[1672])


class ComparedColumnOut(Scores):
    """One predictor; scores are of the experiments asked for."""

    position: int = Field(examples=[0])
    name: str = Field(examples=["llvm-mca 19 · skylake"])
    kind: str = Field(description="mapping, resource_mapping, tool, set or predictor.", examples=["mapping"])
    coverage: float | None = Field(description="Share of the experiments with a number.", examples=[1.0])
    error: str = Field(description="Why it said nothing at all.", examples=[""])
    lacks: list[LackOut] = Field(description="Of all experiments.")


class PredictorComparisonOut(Schema):
    """A comparison; `selected` of its `n` measurements are looked at."""

    run: RunOut
    experiment_set: Ref | None
    n: int = Field(examples=[2000])
    common: int = Field(description="Answered by every predictor that answers any.", examples=[328])
    selected: int = Field(examples=[2000])
    columns: list[ComparedColumnOut]


class LengthMapOut(Scores):
    """The experiments of one length."""

    length: int = Field(examples=[5])
    heat_map: HeatMapOut


class BiasOut(Schema):
    """Predicted over measured cycles of the experiments with a scheme, as geometric means; > 1: too slow."""

    scheme: SchemeText
    n: int = Field(examples=[36])
    free: int = Field(
        description="Of them, predicted to take no time; the means are without them.", examples=[0]
    )
    factor: float | None = Field(examples=[2.1])
    alone: float | None = Field(description="Of experiments of this scheme alone.", examples=[None])


@router.post("/predictor-comparisons", response={201: RunOut})
def start_comparison(request: HttpRequest, data: NewComparison) -> Any:
    """Start to compare predictors. Tools get each experiment as a basic block without dependencies."""
    with transaction.atomic():  # no predictor is stored for a comparison that is refused
        config = {
            **data.model_dump(exclude={"name"}),
            "predictors": [row.pk for row in predictors_named(data.predictors)],
        }
        return started(request, BY_KIND_OF_COLUMN, config, "Comparison through the API", data.name)


@router.get("/predictor-comparisons", response=PageOf[RunOut])
def list_comparisons(request: HttpRequest, paging: Query[Paging]) -> Any:
    """The runs that compare predictors, newest first."""
    return listed_runs(Run.objects.filter(kind__in=KINDS), paging)


@router.get("/predictor-comparisons/{comparison_id}", response=PredictorComparisonOut)
def get_comparison(request: HttpRequest, comparison_id: Id, part: Query[PartOfComparison]) -> Any:
    """One comparison, by the number of its run: MAPE, r, τ and coverage of every predictor."""
    row = comparison_of_run(comparison_id)
    looked = part_of(row, part)
    of = selected(row, looked.selection)
    return {
        "run": {**run_json(row.run), "result": {}},
        "experiment_set": ref(row.experiment_set),
        "n": row.n,
        "common": row.common,
        "selected": of,
        "columns": [_column_json(column, of, looked) for column in columns_of(row)],
    }


@router.get("/predictor-comparisons/{comparison_id}/columns/{position}/heat-map", response=HeatMapOut)
def get_compared_heat_map(
    request: HttpRequest, comparison_id: Id, position: Id, part: Query[PartOfComparison]
) -> Any:
    """Predictions of one predictor against the measurements, in 35 × 35 bins."""
    column = _column(comparison_id, position)
    return heat_map_of(column, part_of(column.comparison, part)).as_json()


@router.get("/predictor-comparisons/{comparison_id}/columns/{position}/lengths", response=list[LengthMapOut])
def list_compared_lengths(
    request: HttpRequest, comparison_id: Id, position: Id, part: Query[PartOfComparison]
) -> Any:
    """Scores and heat maps of one predictor by the length of the experiments."""
    column = _column(comparison_id, position)
    found = length_maps_of(column, part_of(column.comparison, part))
    return [
        {"length": each.length, **asdict(each.scores), "heat_map": each.heat_map.as_json()} for each in found
    ]


@router.get("/predictor-comparisons/{comparison_id}/columns/{position}/schemes", response=PageOf[BiasOut])
def list_biases(
    request: HttpRequest,
    comparison_id: Id,
    position: Id,
    paging: Query[Paging],
    part: Query[PartOfComparison],
) -> Any:
    """By which factor one predictor is too slow or too fast, scheme by scheme."""
    column = _column(comparison_id, position)
    schemes = column.comparison.schemes
    found = biases_in(column, part_of(column.comparison, part))
    return listed_in_memory(
        found, paging, lambda page: [{**asdict(each), "scheme": schemes[each.scheme]} for each in page]
    )


@router.get(
    "/predictor-comparisons/{comparison_id}/columns/{position}/measurements", response=list[PredictedOut]
)
def list_compared_measurements(
    request: HttpRequest,
    comparison_id: Id,
    position: Id,
    part: Query[PartOfComparison],
    row: int | None = parameter(None, ge=0, le=1000, examples=[3]),
    column: int | None = parameter(None, ge=0, le=1000, examples=[4]),
) -> Any:
    """The worst predictions, 50 at most: of all, or of the heat map's bin at `row` and `column`."""
    if (row is None) != (column is None):
        raise ProblemError(422, "A bin has a row and a column", where="query", right="both, or none")
    found = _column(comparison_id, position)
    place = None if row is None or column is None else (row, column)
    rows, _ = in_bin(found, part_of(found.comparison, part), place)
    return [each.as_json for each in rows if isinstance(each, Predicted)]


@router.get("/predictor-comparisons/{comparison_id}/answers", response=str, openapi_extra={FILE: "text/csv"})
def export_answers(request: HttpRequest, comparison_id: Id) -> StreamingHttpResponse:
    """Every experiment with its measurement and all answers, in cycles, as CSV."""
    row = comparison_of_run(comparison_id)
    names = [column.name for column in columns_of(row)]
    lines = answer_lines(sheet_of(key_of(row)), names)
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


def _column_json(column: ComparedColumn, of: int, part: ComparisonPart) -> dict[str, Any]:
    scores = scores_of(column, part)
    return {
        **{name: getattr(column, name) for name in ("position", "name", "kind", "error")},
        "coverage": answered_in(column, part) / of if of else None,
        "lacks": [{"reason": reason, "n": n} for reason, n in column.summary["lacks"]],
        **asdict(scores),
    }


def _column(run: int, position: int) -> ComparedColumn:
    columns = columns_of(comparison_of_run(run))
    if position >= len(columns):
        raise ProblemError(
            404, "There is no such predictor", where="path position", right=f"a number below {len(columns)}"
        )
    return columns[position]
