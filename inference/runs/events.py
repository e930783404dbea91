"""Events that the engine of runs emits itself, and what features fold out of journals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

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


class RecordPart(Protocol):
    """What one feature reads out of a journal."""

    def take(self, event: Event) -> None:
        """Fold an event in, of whatever kind; what an attempt tells again changes nothing."""
        ...

    def log_line(self, event: Event) -> str:
        """The line that the event adds to the log; "" for none, as where the page shows all of it."""
        return ""


_PARTS: dict[str, Callable[[], RecordPart]] = {}


def register(parts: Mapping[str, Callable[[], RecordPart]]) -> None:
    """Add parts by name; each function makes an empty one."""
    _PARTS.update(parts)


def empty_parts() -> dict[str, RecordPart]:
    return {name: make() for name, make in _PARTS.items()}
