"""Comparisons of predictors on the measurements of a set: scores, heat maps, biases, single experiments."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from inference.features.asking.predictors.offers import predictors_named
from inference.features.judging.engine.file_pages import answer_lines
from inference.features.judging.engine.listed_items import Predicted, in_bin
from inference.features.judging.engine.query import (
    ComparisonPart,
    answered_in,
    biases_in,
    columns_of,
    heat_map_of,
    key_of,
    length_maps_of,
    scores_of,
    selected,
    sheet_of,
)
from inference.features.judging.engine.request import BY_KIND_OF_COLUMN, KINDS, ComparisonConfig
from inference.features.judging.engine.shapes import PredictedOut, predicted_json
from inference.features.judging.engine.views_api import PartOfComparison, comparison_of_run, part_of
from inference.features.judging.engine.views_api import router as views_router
from inference.features.running.runs.runs_of_kind import NameOfRun, listed_runs, started
from inference.models import ComparedColumn, Run
from inference.web.api.answers import PredictorNames
from inference.web.api.document import FILE
from inference.web.api.errors import ProblemError
from inference.web.api.paging import PageOf, Paging, listed_in_memory
from inference.web.api.result_shapes import HeatMapOut
from inference.web.api.shapes import Ref, RunOut, SchemeText, Scores, parameter, ref, run_json
from inference.web.validation import Id

router = Router()
router.add_router("", views_router)


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
    return [predicted_json(each) for each in rows if isinstance(each, Predicted)]


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
