"""Accuracy checks in the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.predictors.offers import predictors_named
from inference.features.judging.accuracy_checks.core_verdict import core_verdict
from inference.features.judging.accuracy_checks.query import FACTS, check_of, error_of
from inference.features.judging.accuracy_checks.request import KIND, AccuracyCheckConfig
from inference.features.learning.core_model.query import core_models
from inference.features.running.runs.runs_of_kind import NameOfRun, done_run, listed_runs, start_response
from inference.isa.targets import DEFAULT
from inference.models import Run
from inference.web.api.answers import NamedBlock, PredictorNames
from inference.web.api.paging import PageOf, Paging
from inference.web.api.result_shapes import AccuracyJudgementOut, HeatMapOut
from inference.web.api.shapes import RunOut, Scores, fields_of, run_json
from inference.web.validation import Id

router = Router()


class NewAccuracyCheck(AccuracyCheckConfig):
    """The blocks to measure and the machine; without predictors, all that fit the machine."""

    predictors: PredictorNames = []  # type: ignore[assignment]
    name: NameOfRun = ""


class BoundErrorOut(Schema):
    """Errors in per cent on the blocks with this largest bound by the core model."""

    bound: str = Field(examples=["dependencies"])
    n: int = Field(examples=[141])
    mape: float = Field(examples=[4.1])
    median: float = Field(examples=[1.2])


class TraitOut(Schema):
    """A trait of blocks with larger errors than all others; medians in per cent."""

    kind: str = Field(description="scheme, memory, length or bound.", examples=["memory"])
    name: str = Field(examples=["loads what it has stored"])
    n: int = Field(description="Blocks with the trait.", examples=[23])
    inside: float = Field(description="Median absolute error of these in per cent.", examples=[31.5])
    outside: float = Field(
        description="Median absolute error of the other blocks in per cent.", examples=[2.2]
    )
    signed: float = Field(
        description="Median signed error of these in per cent; above 0: overestimated.", examples=[-28.0]
    )
    farther: float = Field(
        description="Share of pairs with another block in which the one with the trait has the larger error.",
        examples=[0.83],
    )
    p: float = Field(description="p-value of the rank test, with Holm's correction.", examples=[2e-7])


class WorstBlockOut(NamedBlock):
    """A block with a large error; `said`: the prediction in cycles."""

    measured: float = Field(examples=[3.0])
    said: float = Field(examples=[1.0])
    error: float = Field(description="In per cent of the measurement.", examples=[-66.7])
    bound: str = Field(description="Largest bound by the core model.", examples=["dependencies"])


class RepeatSpreadOut(Schema):
    """The error of the repeated measurement, a lower bound of the error of any prediction."""

    n: int = Field(description="Blocks measured twice.", examples=[400])
    set_aside: int = Field(
        description="Number of these excluded, because their readings differ far more than those of others.",
        examples=[1],
    )
    mape: float | None = Field(
        description="MAPE between both measurements of the others, in per cent.", examples=[0.8]
    )
    median: float | None = Field(examples=[0.2])


class CheckedPredictorOut(Scores):
    """A predictor compared with the measurement."""

    name: str = Field(examples=["core model lab"])
    answered: int = Field(examples=[486])
    failures: int = Field(examples=[14])
    median: float | None = Field(description="Absolute error in per cent.", examples=[1.9])
    near: float | None = Field(description="Share within 10 % of the measurement.", examples=[0.82])
    above: float | None = Field(description="Share more than 3 % above it.", examples=[0.01])
    bounds: list[BoundErrorOut]
    traits_tried: int = Field(examples=[212])
    traits: list[TraitOut] = Field(description="Traits with larger errors.")
    worst: list[WorstBlockOut]
    heat_map: HeatMapOut
    judgement: AccuracyJudgementOut | None = Field(
        description="null for the measurement itself, and in checks of earlier versions."
    )


class AccuracyCheckOut(Schema):
    """The accuracy of predictors on a machine; `again`: the repeated measurement, `floor`: the same without
    disturbed readings."""

    run: RunOut
    machine: str = Field(examples=["lab"])
    source: str = Field(description="Name of the set of the blocks.", examples=["sqlite"])
    mode: str = Field(examples=["unrolled"])
    rounds: int = Field(description="Measurements of each block; the median counts.", examples=[3])
    blocks: int = Field(examples=[500])
    measured: int = Field(examples=[493])
    block_set: Id = Field(description="Id of the set with all answers.", examples=[12])
    again: CheckedPredictorOut
    floor: RepeatSpreadOut | None = Field(description="null in checks of earlier versions.")
    predictors: list[CheckedPredictorOut]
    unasked: dict[str, str] = Field(
        description="{predictor without answers: reason}.",
        examples=[{"uiCA": "it has no model of this processor"}],
    )


@router.post("/accuracy-checks", response={201: RunOut})
def start_accuracy_check(request: HttpRequest, data: NewAccuracyCheck) -> Any:
    """Start a run that measures blocks of a set on a machine, and scores all predictors on them."""
    with transaction.atomic():  # no predictor is stored for a check that is refused
        named = [row.pk for row in predictors_named(data.predictors)] if data.predictors else []
        config = {**data.model_dump(exclude={"name"}), "predictors": named}
        return start_response(request, KIND, config, data.name)


@router.get("/accuracy-checks", response=PageOf[RunOut])
def list_accuracy_checks(
    request: HttpRequest,
    paging: Query[Paging],
    machine: Annotated[int | None, Field(ge=1, le=2**63 - 1, examples=[1])] = None,
) -> Any:
    """List the accuracy checks, newest first; with `machine`, those of one machine."""
    rows = Run.objects.filter(kind=KIND)
    return listed_runs(rows if machine is None else rows.filter(config__machine=machine), paging)


@router.get("/accuracy-checks/{accuracy_check_id}", response=AccuracyCheckOut)
def get_accuracy_check(request: HttpRequest, accuracy_check_id: Id) -> Any:
    """The result of a check; 409 until it is done."""
    run = done_run(accuracy_check_id, KIND, "accuracy_check_id")
    check = check_of(run)
    assert check is not None, "it is done"
    return {
        "run": {**run_json(run), "result": {}},
        **{name: check[name] for name in (*FACTS, "floor", "unasked")},
        "block_set": run.result["block_set"],
        "again": _predictor_json(check["again"]),
        "predictors": [_predictor_json(predictor) for predictor in check["predictors"]],
    }


def _predictor_json(answer: Json) -> Json:
    return {
        **answer,
        **answer["scores"],
        "failures": answer["failed"],
        "traits_tried": answer["traits"]["tried"],
        "traits": answer["traits"]["found"],
        "worst": [{"isa": DEFAULT, **block, "error": error_of(block)} for block in answer["worst"]],
        "judgement": answer.get("judgement"),
    }


class CoreVerdictOut(Schema):
    """How good a core model is; `grade` is null where nothing has judged it."""

    grade: str | None = Field(description="good, usable, doubtful or wrong.", examples=["good"])
    on: str = Field(description="What it is judged for.", examples=["for independent instructions"])
    reasons: list[str] = Field(examples=[["off by 3.0 % on average, on 1,979 held-out mixes"]])
    on_code: bool = Field(
        description="Whether it is judged by blocks of code, with dependences and memory.", examples=[False]
    )
    at: datetime | None


@router.get("/core-models/{core_model_id}/verdict", response=CoreVerdictOut)
def judge_core_model(request: HttpRequest, core_model_id: Id) -> Any:
    """How good a core model is: by blocks that its machine measured, else by mixes for its mapping."""
    row = get_object_or_404(core_models(), pk=core_model_id)
    verdict = core_verdict(row)
    if verdict is None:
        return {"grade": None, "on": "", "reasons": [], "on_code": False, "at": None}
    return fields_of(verdict, CoreVerdictOut)
