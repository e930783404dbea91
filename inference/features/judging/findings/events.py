"""The events of runs of kind `check-model`: single schemes, mixes and orders measured so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import model_validator

from inference.core.events import Amount, Count, Event, choice_validator, stored_as
from inference.core.model_check import AloneCheck, AloneVerdict
from inference.formats.archived_parts import StoredHeatMap, StoredScores

_Row = tuple[str, Amount | None, Amount | None, Annotated[str, choice_validator(tuple(AloneVerdict))], str]


@dataclass(frozen=True)
class SchemesAlone(Event):
    """Schemes measured alone, with the cycles that the model predicts."""

    kind = "model_alone"
    rows: Sequence[Annotated[AloneCheck, stored_as(_Row, AloneCheck.as_row, AloneCheck.of_row)]]

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        for row in self.rows:
            compared = row.verdict in (AloneVerdict.WITHIN, AloneVerdict.DISCREPANCY)
            if compared and not (row.measured and row.modelled):
                raise ValueError(f"{row.scheme[:80]!r} has been compared without two numbers of cycles")
        return self


@dataclass(frozen=True)
class MixesMeasured(Event):
    """The model's agreement with the measured mixes of one length, out of `planned` ones."""

    kind = "model_mixes"
    length: Count
    asked: Count
    settled: Count
    scores: StoredScores | None
    slower: Count
    faster: Count
    planned: Count
    heat_map: StoredHeatMap | None


@dataclass(frozen=True)
class OrdersMeasured(Event):
    """The effect of the order of instructions on the measured mixes of one length, out of `planned` ones."""

    kind = "model_orders"
    length: Count
    asked: Count
    samples: Count
    mean: Amount | None
    largest: Amount | None
    notable: Count
    worst: Sequence[tuple[str, Amount, Amount]]
    share: Amount | None
    planned: Count
