"""What answers of the API about accuracy have in common."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import Field

from inference.core.judging.accuracy import Grade
from inference.features.judging.engine.listed_items import Predicted
from inference.web.api.shapes import Cycles
from inference.web.validation import Id


class AccuracyJudgementOut(Schema):
    """What predictions are fit for, by what repeating gives and by the best published tool."""

    grade: Grade
    reasons: list[str] = Field(examples=[["off by 4.8 % on average, median 0.9 %, on 398 blocks"]])


class PredictedOut(Schema):
    """A measurement with its prediction, both in the evaluation's unit."""

    measurement_id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    measured: Cycles
    predicted: Cycles
    difference: float = Field(description="Per cent of the measurement.", examples=[2.0])


def predicted_json(each: Predicted) -> dict[str, Any]:
    """A measurement with its prediction, as `PredictedOut`."""
    return {
        "measurement_id": each.stored.id,
        "experiment_id": each.stored.experiment_id,
        "experiment": str(each.stored.value.experiment),
        "measured": each.measured,
        "predicted": each.predicted,
        "difference": each.difference,
    }
