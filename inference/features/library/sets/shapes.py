"""Measurements, as answers of the API have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from inference.models import Measurement
from inference.storage.rows import measurements_of
from inference.web.api.shapes import Cycles, RowOut, fields_of
from inference.web.validation import Id


class MeasurementOut(RowOut):
    """One row of a set."""

    id: Id
    experiment_id: Id
    experiment: str = Field(examples=["2*add GPR[64]:RW, GPR[64]:R"])
    terms: dict[str, int] = Field(examples=[{"add GPR[64]:RW, GPR[64]:R": 2}])
    length: int = Field(
        validation_alias="experiment.length", description="Number of instructions.", examples=[2]
    )
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
    stored = [values[row.pk] for row in found if row.pk in values]
    return [
        fields_of(
            one.value,
            MeasurementOut,
            id=one.id,
            experiment_id=one.experiment_id,
            experiment=str(one.value.experiment),
            terms=dict(one.value.experiment.terms),
        )
        for one in stored
    ]
