"""Events that the engine of runs emits, and the registry of parts that features fold from journals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import ModuleType
from typing import Annotated, Protocol

from inference.core.events import Amount, Count, Event, Signed, choice_validator
from inference.formats.archived_parts import StoredHeatMap, StoredScores
from inference.measuring.drift import DriftCheck, DriftVerdict


@dataclass(frozen=True)
class RemeasuredExperiment:
    """An experiment with its cycles in the first measurement (`before`) and in the repetitions (`after`)."""

    experiment: str
    before: Amount
    after: Sequence[Amount]
    verdict: Annotated[str, choice_validator(tuple(DriftVerdict))]


@dataclass(frozen=True)
class DriftChecked(Event):
    """A round of repeated measurements; `unanswered` of them gave no number."""

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
class HeatMapEvent(Event):
    """Predicted against measured times of the best mapping so far, errors by length, worst schemes."""

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
    """One feature's state, folded from the events of a journal."""

    def take(self, event: Event) -> None:
        """Fold in an event of any kind; an event that a resumed attempt repeats must change nothing."""
        ...

    def log_line(self, event: Event) -> str:
        """The line that the event adds to the log; "" for events that have no line."""
        return ""


_LOADERS: list[Callable[[], Iterable[ModuleType]]] = []


def register(load: Callable[[], Iterable[ModuleType]]) -> None:
    """Register a function that imports modules with `RECORDS`, {name: class of a part}."""
    _LOADERS.append(load)


def empty_parts() -> dict[str, RecordPart]:
    modules = chain.from_iterable(load() for load in _LOADERS)
    return {name: part() for module in modules for name, part in getattr(module, "RECORDS", {}).items()}
