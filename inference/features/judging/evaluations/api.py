"""Evaluations of mappings in the API: scores, heat maps, and the experiments in their bins."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.judging.accuracy import AccuracyFigures, accuracy_judgement
from inference.core.judging.agreement import Agreement, errors_by_group
from inference.core.metrics import DIGITS
from inference.features.judging.engine.query import scores_of, verdict_of
from inference.features.judging.engine.views import length_groups
from inference.features.judging.evaluations.query import ERROR_ORDERS, errors_by_scheme, question_of, worst_of
from inference.figures.heatmap import HeatMap
from inference.models import Evaluation, ExperimentSet, InstructionScheme, PortMapping, ResourceMapping
from inference.storage.evaluations import evaluations_of, evaluations_on, residuals_in
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, allowed_sorts, list_answer_in_memory
from inference.web.api.result_shapes import AccuracyJudgementOut, HeatMapOut, PredictedOut, SchemeErrorOut
from inference.web.api.shapes import Ref, Scores, Text, Time, Unit, fields_of, parameter, ref
from inference.web.paging import Order
from inference.web.validation import Id

router = Router()
ErrorSort = Annotated[str, allowed_sorts(ERROR_ORDERS)]


class EvaluationOut(Scores):
    """A mapping's predictions against the measurements of a set, or those that the mapping's run held out."""

    id: Id
    mapping: Ref | None
    resource_mapping: Ref | None
    experiment_set: Ref | None
    held_out_by: Ref | None
    unit: Unit
    skipped: int = Field(description="Number of measurements without a prediction.", examples=[0])
    computed: Time


class LengthErrorOut(Schema):
    """The MAPE on experiments of one length."""

    length: int = Field(examples=[5])
    n: int = Field(examples=[1000])
    mape: float = Field(examples=[6.3])


class ToolOut(Scores):
    """Scores of a tool with answers in the set."""

    tool: str = Field(examples=["llvm-mca"])
    skipped: int = Field(examples=[0])


class EvaluationInFull(EvaluationOut):
    """An evaluation with its heat map, and errors by length."""

    judgement: AccuracyJudgementOut = Field(
        description="`grade` is null where the set is known to be measured on another core."
    )
    heat_map: HeatMapOut
    lengths: list[LengthErrorOut]
    tools: list[ToolOut]


@router.get("/mappings/{mapping_id}/evaluations", response=PageOf[EvaluationOut])
def list_evaluations_of_mapping(request: HttpRequest, mapping_id: Id, paging: Query[Paging]) -> Any:
    """All evaluations of a port mapping, those on held-out experiments first."""
    return _evaluations_answer(evaluations_of(get_object_or_404(PortMapping, pk=mapping_id)), paging)


@router.get("/resource-mappings/{resource_mapping_id}/evaluations", response=PageOf[EvaluationOut])
def list_evaluations_of_resource_mapping(
    request: HttpRequest, resource_mapping_id: Id, paging: Query[Paging]
) -> Any:
    """All evaluations of a resource mapping."""
    return _evaluations_answer(
        evaluations_of(get_object_or_404(ResourceMapping, pk=resource_mapping_id)), paging
    )


@router.get("/sets/{set_id}/evaluations", response=PageOf[EvaluationOut])
def list_evaluations_on_set(request: HttpRequest, set_id: Id, paging: Query[Paging]) -> Any:
    """All evaluations on a set, by unit, the most accurate mapping first."""
    return _evaluations_answer(evaluations_on(get_object_or_404(ExperimentSet, pk=set_id)), paging)


@router.get("/evaluations/{evaluation_id}", response=EvaluationInFull)
def get_evaluation(request: HttpRequest, evaluation_id: Id) -> Any:
    """One evaluation with its heat map. A run of kind `evaluate` creates one."""
    row = _evaluation_row(evaluation_id)
    question = question_of(row)
    mapping_scores, *tools = ((column.name, scores_of(column, question.part)) for column in question.columns)
    judgement = verdict_of(question.columns, question.column, question.part)
    if judgement is None:
        judgement = accuracy_judgement(AccuracyFigures(Agreement(mapping_scores[1]), 0.0), "experiments")
    return {
        **_evaluation_json(row),
        "judgement": judgement.as_json(),
        "heat_map": HeatMap.from_json(row.heat_map).as_json(),
        "lengths": [
            {"length": int(group.name), "n": group.n, "mape": round(group.mape, DIGITS)}
            for group in errors_by_group(question.points, length_groups(question))
        ],
        "tools": [
            {"tool": name, "skipped": row.n + row.skipped - scores.n, **scores.as_json()}
            for name, scores in tools
        ],
    }


@router.get("/evaluations/{evaluation_id}/schemes", response=PageOf[SchemeErrorOut])
def list_scheme_errors(
    request: HttpRequest,
    evaluation_id: Id,
    paging: Query[Paging],
    q: Text = "",
    sort: ErrorSort = "-absolute",
) -> Any:
    """Errors by scheme, for schemes that match the search `q`, the largest first."""
    row = _evaluation_row(evaluation_id)
    order = Order.of(sort)
    schemes = errors_by_scheme(row.predictor.isa, residuals_in(row), q.strip(), order)
    return list_answer_in_memory(schemes, paging, lambda errors: errors)


@router.get("/evaluations/{evaluation_id}/measurements", response=list[PredictedOut])
def list_worst(
    request: HttpRequest,
    evaluation_id: Id,
    row: int | None = parameter(None, ge=0, le=1000, examples=[3]),
    column: int | None = parameter(None, ge=0, le=1000, examples=[4]),
    scheme: int | None = parameter(
        None, ge=0, le=2**63 - 1, description="Id of a scheme that the experiments contain.", examples=[812]
    ),
) -> Any:
    """The 50 worst predictions: of all, with a scheme, or of the heat map's bin at `row` and `column`."""
    evaluation = _evaluation_row(evaluation_id)
    if (row is None) != (column is None):
        raise ProblemError(422, "A bin has a row and a column", where="query", right="both, or none")
    isa = evaluation.predictor.isa_id
    scheme_row = None if scheme is None else get_object_or_404(InstructionScheme, pk=scheme, isa=isa)
    place = None if row is None or column is None or scheme_row else (row, column)
    return [prediction.as_json for prediction in worst_of(evaluation, scheme_row, place)]


def _evaluation_row(evaluation_id: int) -> Evaluation:
    related = ("mapping__isa", "resource_mapping__isa", "experiment_set", "held_out_by")
    return get_object_or_404(Evaluation.objects.select_related(*related), pk=evaluation_id)


def _evaluations_answer(rows: Any, paging: Paging) -> Any:
    """A page of evaluations, all in memory: a mapping or a set has at most one per mapping and unit."""
    related = ("mapping", "resource_mapping", "experiment_set", "held_out_by")
    evaluations = list(
        rows.select_related(*related).defer("heat_map", "mapping__report", "resource_mapping__report")
    )
    return list_answer_in_memory(evaluations, paging, lambda page: [_evaluation_json(row) for row in page])


def _evaluation_json(row: Evaluation) -> dict[str, Any]:
    related = ("mapping", "resource_mapping", "experiment_set", "held_out_by")
    return fields_of(row, EvaluationOut, **{name: ref(getattr(row, name)) for name in related})
