"""Events that the engine of runs emits itself, or makes of what algorithms tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from inference.core.events import Amount, Count, Event, Signed, one_of
from inference.formats.archived_parts import StoredHeatMap, StoredScores
from inference.measuring.drift import DriftCheck, DriftVerdict


@dataclass(frozen=True)
class RemeasuredExperiment:
    """An experiment with its cycles when it was first measured, and each time since."""

    experiment: str
    before: Amount
    after: Sequence[Amount]
    verdict: Annotated[str, one_of(tuple(DriftVerdict))]


@dataclass(frozen=True)
class DriftChecked(Event):
    """Results have been measured again; `unanswered` of them gave no number."""

    kind = "drift"
    compared: Sequence[RemeasuredExperiment]
    unanswered: Count

    @classmethod
    def of(cls, check: DriftCheck) -> DriftChecked:
        compared = [
            RemeasuredExperiment(str(pair.experiment), pair.before, pair.after, pair.verdict)
            for pair in check.compared
        ]
        return cls(compared, check.unanswered)


@dataclass(frozen=True)
class HeatMapDrawn(Event):
    """Predicted against measured, of the best mapping so far; errors by length and of the worst schemes."""

    kind = "heat_map"
    replaced = True
    bulky = True
    figure: StoredHeatMap
    scores: StoredScores
    on: str
    lengths: Sequence[tuple[Count, Count, Amount]] = ()
    worst: Sequence[tuple[str, Count, Signed, Amount]] = ()
    schemes: Count = 0
