"""Accuracy checks: start one, and read what it found."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.predictors.offers import predictors_named
from inference.features.judging.accuracy_checks.query import FACTS, check_of, error_of
from inference.features.judging.accuracy_checks.request import KIND, AccuracyCheckConfig
from inference.features.running.runs.runs_of_kind import NameOfRun, done_run, listed_runs, started
from inference.isa.targets import DEFAULT
from inference.models import Run
from inference.web.api.answers import NamedBlock, PredictorNames
from inference.web.api.paging import PageOf, Paging
from inference.web.api.result_shapes import AccuracyJudgementOut, HeatMapOut
from inference.web.api.shapes import RunOut, Scores, run_json
from inference.web.validation import Id

router = Router()


class NewAccuracyCheck(AccuracyCheckConfig):
    """Which blocks are measured where; without predictors, all that suit the machine are asked."""

    predictors: PredictorNames = []  # type: ignore[assignment]
    name: NameOfRun = ""


class BoundErrorOut(Schema):
    """Errors on the blocks whose largest bound by the core model is this one, in per cent."""

    bound: str = Field(examples=["dependencies"])
    n: int = Field(examples=[141])
    mape: float = Field(examples=[4.1])
    median: float = Field(examples=[1.2])


class TraitOut(Schema):
    """A trait of blocks with larger errors than all others; medians in per cent."""

    kind: str = Field(description="scheme, memory, length or bound.", examples=["memory"])
    name: str = Field(examples=["loads what it has stored"])
    n: int = Field(description="Blocks with it.", examples=[23])
    inside: float = Field(description="Median absolute error of these.", examples=[31.5])
    outside: float = Field(description="Of all others.", examples=[2.2])
    signed: float = Field(description="Median error with its sign, of these.", examples=[-28.0])
    farther: float = Field(
        description="Share of the pairs with another block in which the one with the trait is farther off.",
        examples=[0.83],
    )
    p: float = Field(description="Likelihood of that by chance, corrected by Holm.", examples=[2e-7])


class WorstBlockOut(NamedBlock):
    """A block with a large error."""

    measured: float = Field(examples=[3.0])
    said: float = Field(examples=[1.0])
    error: float = Field(description="In per cent of the measurement.", examples=[-66.7])
    bound: str = Field(description="Largest bound by the core model.", examples=["dependencies"])


class RepeatSpreadOut(Schema):
    """How far the same blocks, measured once more, are off: no prediction can be expected to come nearer."""

    n: int = Field(description="Blocks measured twice.", examples=[400])
    set_aside: int = Field(
        description="Of these, blocks whose readings differ by far more than those of the others.",
        examples=[1],
    )
    mape: float | None = Field(description="Of the others, in per cent.", examples=[0.8])
    median: float | None = Field(examples=[0.2])


class CheckedPredictorOut(Scores):
    """A predictor beside the measurement."""

    name: str = Field(examples=["core model lab"])
    answered: int = Field(examples=[486])
    failures: int = Field(examples=[14])
    median: float | None = Field(description="Absolute error in per cent.", examples=[1.9])
    near: float | None = Field(description="Share within 10 % of the measurement.", examples=[0.82])
    above: float | None = Field(description="Share more than 3 % above it.", examples=[0.01])
    bounds: list[BoundErrorOut]
    traits_tried: int = Field(examples=[212])
    traits: list[TraitOut] = Field(description="That go with large errors.")
    worst: list[WorstBlockOut]
    heat_map: HeatMapOut
    judgement: AccuracyJudgementOut | None = Field(
        description="null for the measurement itself, and in checks of earlier versions."
    )


class AccuracyCheckOut(Schema):
    """How good predictors are on a machine; `again`: the same blocks measured once more, of which `floor`
    leaves disturbed readings out."""

    run: RunOut
    machine: str = Field(examples=["lab"])
    source: str = Field(description="The set that the blocks are from.", examples=["sqlite"])
    mode: str = Field(examples=["unrolled"])
    rounds: int = Field(description="Measurements of each, of which the median counts.", examples=[3])
    blocks: int = Field(examples=[500])
    measured: int = Field(examples=[493])
    block_set: Id = Field(description="The set with all answers.", examples=[12])
    again: CheckedPredictorOut
    floor: RepeatSpreadOut | None = Field(description="null in checks of earlier versions.")
    predictors: list[CheckedPredictorOut]
    unasked: dict[str, str] = Field(
        description="Who said nothing, and why.", examples=[{"uiCA": "it has no model of this processor"}]
    )


@router.post("/accuracy-checks", response={201: RunOut})
def start_accuracy_check(request: HttpRequest, data: NewAccuracyCheck) -> Any:
    """Start to measure blocks of a set on a machine, and to ask everybody about them."""
    with transaction.atomic():  # no predictor is stored for a check that is refused
        named = [row.pk for row in predictors_named(data.predictors)] if data.predictors else []
        config = {**data.model_dump(exclude={"name"}), "predictors": named}
        return started(request, KIND, config, "Accuracy check through the API", data.name)


@router.get("/accuracy-checks", response=PageOf[RunOut])
def list_accuracy_checks(
    request: HttpRequest,
    paging: Query[Paging],
    machine: Annotated[int | None, Field(ge=1, le=2**63 - 1, examples=[1])] = None,
) -> Any:
    """The accuracy checks, newest first; those of one machine where `machine` gives its number."""
    rows = Run.objects.filter(kind=KIND)
    return listed_runs(rows if machine is None else rows.filter(config__machine=machine), paging)


@router.get("/accuracy-checks/{accuracy_check_id}", response=AccuracyCheckOut)
def get_accuracy_check(request: HttpRequest, accuracy_check_id: Id) -> Any:
    """What a check found; 409 until it is done."""
    run = done_run(accuracy_check_id, KIND, "accuracy_check_id")
    found = check_of(run)
    assert found is not None, "it is done"
    return {
        "run": {**run_json(run), "result": {}},
        **{name: found[name] for name in (*FACTS, "floor", "unasked")},
        "block_set": run.result["block_set"],
        "again": _checked(found["again"]),
        "predictors": [_checked(one) for one in found["predictors"]],
    }


def _checked(one: Json) -> Json:
    return {
        **one,
        **one["scores"],
        "failures": one["failed"],
        "traits_tried": one["traits"]["tried"],
        "traits": one["traits"]["found"],
        "worst": [{"isa": DEFAULT, **block, "error": error_of(block)} for block in one["worst"]],
        "judgement": one.get("judgement"),
    }
