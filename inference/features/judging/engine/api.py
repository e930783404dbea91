"""Comparisons in the API: any sources on any items in any view, and predictors on the measurements of a
set."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.experiment import Unit as Units
from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemSelection
from inference.features.asking.predictors.offers import predictors_named
from inference.features.judging.engine.pages import answer_lines
from inference.features.judging.engine.query import (
    ComparisonPart,
    PredictedExperiment,
    ViewQuestion,
    answered_count,
    biases_in,
    columns_of,
    comparison_rows,
    heat_map_of,
    items_in_bin,
    key_of,
    length_maps_of,
    matching_schemes,
    scores_of,
    selected_count,
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
from inference.features.running.runs.runs_of_kind import NameOfRun, listed_runs, not_done, start_response
from inference.isa.search import SearchError
from inference.models import ComparedColumn, Comparison, Run
from inference.web.api.answers import PredictorNames
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.result_shapes import HeatMapOut, PredictedOut
from inference.web.api.shapes import Ref, RunOut, SchemeText, Scores, Text, parameter, ref, run_json
from inference.web.validation import Id

router = Router()


ViewName = parameter("scores", max_length=20, description=f"One of {', '.join(VIEWS)}.", examples=["worst"])
ColumnPlace = parameter(
    None,
    ge=0,
    le=100,
    description="Position of the viewed source, from 0; by default the first that is not the reference.",
    examples=[0],
)


class NewJudgement(JudgeConfig):
    """The items, the sources to compare on them, and the reference."""

    name: NameOfRun = ""


class PartOfComparison(Schema):
    """The items to view, and the unit."""

    unit: Units = Field(Units.CYCLES, description="cycles, cpi or ipc.")
    shortest: int | None = Field(None, ge=1, description="Fewest instructions of an item.", examples=[2])
    longest: int | None = Field(None, ge=1, description="Most instructions of an item.", examples=[5])
    q: Text = Field(
        "", description="Only experiments with a scheme that matches this search.", examples=["ext:AVX2"]
    )
    only: bool = Field(False, description="Only experiments all of whose schemes match the search.")
    common: bool = Field(False, description="Only items that every predictor answered.")
    bound: Text = Field("", description="Only items that this bound limits.", examples=["ports"])
    apart: float = Field(
        0.0, ge=0, description="Only items with at least this relative error.", examples=[0.25]
    )
    against: int | None = Field(
        None, ge=0, le=100, description="Position of the reference among the sources, from 0.", examples=[1]
    )


class DisagreementLimit(Schema):
    threshold: float = Field(
        0.5, ge=0, description="Smallest difference that counts as disagreement.", examples=[0.5]
    )
    metric: DifferenceMetric = Field(
        DifferenceMetric.RELATIVE, description="relative: by the mean of both; absolute: in cycles."
    )


class ViewTableOut(Schema):
    """A table of a view; rows have a value per column, or null."""

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
    source: str = Field(description="Name of the set of the items.", examples=["sqlite"])
    reference: str = Field(description="Name of the reference.", examples=["measured"])
    column: str = Field(description="Name of the viewed source.", examples=["uiCA"])
    n: int = Field(examples=[2000])
    selected: int = Field(description="Number of viewed items.", examples=[328])
    tables: list[ViewTableOut]


@router.post("/comparisons", response={201: RunOut})
def start_judging(request: HttpRequest, data: NewJudgement) -> Any:
    """Start a comparison of sources: `mapping:7`, `core-model:2`, `predictor:uiCA`, `column:17`, `tool:IACA`
    …"""
    with transaction.atomic():  # no predictor is stored for a comparison that is refused
        config = data.model_dump(exclude={"name"})
        return start_response(request, KIND, config, data.name)


@router.get("/comparisons/{comparison_id}", response=ViewOut)
def get_view(
    request: HttpRequest,
    comparison_id: Id,
    part: Query[PartOfComparison],
    limit: Query[DisagreementLimit],
    view: str = ViewName,
    column: int | None = ColumnPlace,
) -> Any:
    """A comparison in one of its views."""
    row = stored_comparison(comparison_id)
    columns = columns_of(row)
    if view not in VIEWS:
        raise ProblemError(422, "There is no such view", where="query view", right=", ".join(VIEWS))
    comparison_part = part_of(row, part)
    choices = [choice for choice in columns if choice.position != comparison_part.against]
    of_view = next((choice for choice in choices if column in (None, choice.position)), None)
    if of_view is None:
        places = ", ".join(str(choice.position) for choice in choices)
        right = f"the place of a source that is not the reference: {places}"
        raise ProblemError(422, "There is no such source", where="query column", right=right)
    question = ViewQuestion(row, columns, of_view, comparison_part, limit.threshold, limit.metric.value)
    return view_json(VIEWS[view], question, selected_count(row, question.part.selection))


def stored_comparison(run: int) -> Comparison:
    """The comparison that a run has stored. Raises `ProblemError` (409) before it is done."""
    row = get_object_or_404(Run, pk=run, kind__in=ALL_KINDS)
    comparison = comparison_rows().filter(run=row).first()
    if comparison is None:
        raise not_done(row, "comparison_id")
    return comparison


def part_of(row: Comparison, part: PartOfComparison) -> ComparisonPart:
    """The requested part. Raises `ProblemError` (422) for an invalid search or an unknown source."""
    try:
        schemes = matching_schemes(row, part.q.strip()) if part.q.strip() else None
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
    """An experiment set, and its predictors: mappings, annotated tools, other sets, and predictors to ask."""

    predictors: PredictorNames = []  # type: ignore[assignment]
    name: NameOfRun = ""


class LackOut(Schema):
    """A reason why experiments have no answer, and how many."""

    reason: str = Field(examples=["unsupported"])
    n: int = Field(examples=[1672])


class ComparedColumnOut(Scores):
    """A predictor; its scores are those on the requested experiments."""

    position: int = Field(examples=[0])
    name: str = Field(examples=["llvm-mca 19 · skylake"])
    kind: str = Field(description="mapping, resource_mapping, tool, set or predictor.", examples=["mapping"])
    coverage: float | None = Field(description="Share of experiments with a number.", examples=[1.0])
    error: str = Field(description="Why the source has no answers; empty if it has.", examples=[""])
    lacks: list[LackOut] = Field(description="Over all experiments.")


class PredictorComparisonOut(Schema):
    """A comparison; `selected` of its `n` measurements are viewed."""

    run: RunOut
    experiment_set: Ref | None
    n: int = Field(examples=[2000])
    common: int = Field(description="Answered by every predictor that answers any.", examples=[328])
    selected: int = Field(examples=[2000])
    columns: list[ComparedColumnOut]


class LengthMapOut(Scores):
    """Scores and heat map of the experiments of one length."""

    length: int = Field(examples=[5])
    heat_map: HeatMapOut


class BiasOut(Schema):
    """Predicted over measured cycles of the experiments with a scheme, as geometric means; > 1: too slow."""

    scheme: SchemeText
    n: int = Field(examples=[36])
    free: int = Field(
        description="Number of these predicted to take 0 cycles, excluded from the means.", examples=[0]
    )
    factor: float | None = Field(examples=[2.1])
    alone: float | None = Field(description="The factor with only this scheme.", examples=[None])


@router.post("/predictor-comparisons", response={201: RunOut})
def start_comparison(request: HttpRequest, data: NewComparison) -> Any:
    """Start a comparison of predictors. Tools get each experiment as a basic block without dependencies."""
    with transaction.atomic():  # no predictor is stored for a comparison that is refused
        config = {
            **data.model_dump(exclude={"name"}),
            "predictors": [row.pk for row in predictors_named(data.predictors)],
        }
        return start_response(request, BY_KIND_OF_COLUMN, config, data.name)


@router.get("/predictor-comparisons", response=PageOf[RunOut])
def list_comparisons(request: HttpRequest, paging: Query[Paging]) -> Any:
    """List the runs that compare predictors, newest first."""
    return listed_runs(Run.objects.filter(kind__in=KINDS), paging)


@router.get("/predictor-comparisons/{comparison_id}", response=PredictorComparisonOut)
def get_comparison(request: HttpRequest, comparison_id: Id, part: Query[PartOfComparison]) -> Any:
    """One comparison, by the number of its run: MAPE, r, τ and coverage of every predictor."""
    row = stored_comparison(comparison_id)
    comparison_part = part_of(row, part)
    of = selected_count(row, comparison_part.selection)
    return {
        "run": {**run_json(row.run), "result": {}},
        "experiment_set": ref(row.experiment_set),
        "n": row.n,
        "common": row.common,
        "selected": of,
        "columns": [_column_json(column, of, comparison_part) for column in columns_of(row)],
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
    maps = length_maps_of(column, part_of(column.comparison, part))
    return [
        {"length": length_map.length, **asdict(length_map.scores), "heat_map": length_map.heat_map.as_json()}
        for length_map in maps
    ]


@router.get("/predictor-comparisons/{comparison_id}/columns/{position}/schemes", response=PageOf[BiasOut])
def list_biases(
    request: HttpRequest,
    comparison_id: Id,
    position: Id,
    paging: Query[Paging],
    part: Query[PartOfComparison],
) -> Any:
    """The factor by which a predictor is too slow or too fast, per scheme."""
    column = _column(comparison_id, position)
    schemes = column.comparison.schemes
    biases = biases_in(column, part_of(column.comparison, part))
    return list_answer_in_memory(
        biases, paging, lambda page: [{**asdict(bias), "scheme": schemes[bias.scheme]} for bias in page]
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
    """The worst predictions, at most 50: of all, or of the heat map's bin at `row` and `column`."""
    if (row is None) != (column is None):
        raise ProblemError(422, "A bin has a row and a column", where="query", right="both, or none")
    compared_column = _column(comparison_id, position)
    place = None if row is None or column is None else (row, column)
    rows, _ = items_in_bin(compared_column, part_of(compared_column.comparison, part), place)
    return [item.as_json for item in rows if isinstance(item, PredictedExperiment)]


@router.get("/predictor-comparisons/{comparison_id}/answers", response=str, openapi_extra={FILE: "text/csv"})
def export_answers(request: HttpRequest, comparison_id: Id) -> StreamingHttpResponse:
    """Every experiment with its measurement and all answers, in cycles, as CSV."""
    row = stored_comparison(comparison_id)
    names = [column.name for column in columns_of(row)]
    lines = answer_lines(sheet_of(key_of(row)), names)
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


def _column_json(column: ComparedColumn, of: int, part: ComparisonPart) -> dict[str, Any]:
    scores = scores_of(column, part)
    return {
        **{name: getattr(column, name) for name in ("position", "name", "kind", "error")},
        "coverage": answered_count(column, part) / of if of else None,
        "lacks": [{"reason": reason, "n": n} for reason, n in column.summary["lacks"]],
        **asdict(scores),
    }


def _column(run: int, position: int) -> ComparedColumn:
    columns = columns_of(stored_comparison(run))
    if position >= len(columns):
        raise ProblemError(
            404, "There is no such predictor", where="path position", right=f"a number below {len(columns)}"
        )
    return columns[position]
