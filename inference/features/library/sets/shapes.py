"""Measurements, as answers of the API have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ninja import Schema
from pydantic import Field

from inference.models import Measurement
from inference.storage.rows import measurements_of
from inference.web.api.shapes import Cycles
from inference.web.validation import Id


class MeasurementOut(Schema):
    """One row of a set."""

    id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    terms: dict[str, int] = Field(examples=[{"add GPR[64]:RW, GPR[64]:R": 2}])
    length: int = Field(description="Number of instructions.", examples=[2])
    state: str = Field(description="settled, unsettled, contended or failed.", examples=["settled"])
    cycles: Cycles | None
    spread: float | None = Field(description="Relative spread of the passes.", examples=[0.003])
    passes: int = Field(examples=[11])
    note: str = Field(examples=[""])
    annotations: dict[str, float] = Field(description="Other tools' cycles.", examples=[{"llvm-mca": 0.5}])
    counters: dict[str, float] = Field(description="Counted per execution.", examples=[{"uops": 2.0}])


def measurements_json(found: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Rows as answers, in their order (two queries)."""
    rows = Measurement.objects.filter(pk__in=[row.pk for row in found])
    values = {each.id: each for each in measurements_of(rows)}
    return [_measurement(values[row.pk]) for row in found if row.pk in values]


def _measurement(stored: Any) -> dict[str, Any]:
    value = stored.value
    return {
        "id": stored.id,
        "experiment_id": stored.experiment_id,
        "experiment": str(value.experiment),
        "terms": dict(value.experiment.terms),
        "length": value.experiment.length,
        "state": value.state.value,
        "cycles": value.cycles,
        "spread": value.spread,
        "passes": value.passes,
        "note": value.note,
        "annotations": value.annotations,
        "counters": value.counters,
    }
