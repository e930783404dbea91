"""The events that runs of every kind have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self

from pydantic import Field

from inference.core.event import Event
from inference.core.event_fields import OMIT_EMPTY, OMIT_NONE, Amount, Count
from inference.core.protocols import Json


@dataclass(frozen=True)
class PhaseStarted(Event):
    """A stage begins; `index` counts from 1, `labels` are those of all stages in order.

    `busy`: seconds that the run has been worked on by then; journals of early versions lack it.
    """

    kind = "phase"
    counted_by = "index"
    at_once = True
    name: str
    index: Annotated[int, Field(ge=1)]
    labels: Sequence[str]
    busy: Annotated[Amount | None, OMIT_NONE] = None

    @property
    def label(self) -> str:
        return self.labels[self.index - 1]

    def line(self) -> str:
        """Which of how many, and its label."""
        return f"[{self.index}/{len(self.labels)}] {self.label}"


@dataclass(frozen=True)
class Progress(Event):
    """How far the stage is; `rate` in units per second, `eta` in seconds, None for what nobody knows."""

    kind = "progress"
    replaced = True
    phase: str
    done: Count | Amount
    total: Count | Amount | None
    rate: Amount
    unit: str
    eta: Amount | None

    def line(self) -> str:
        """Done of all, how fast, and what is left."""
        eta = "" if self.eta is None else f", {self.eta:.0f} s to go"
        pace = rate_in_words(self.rate, self.unit)
        return f"  {self.done} of {self.total}{f', {pace}' if pace else ''}{eta}"


@dataclass(frozen=True)
class Log(Event):
    """A sentence for the reader; level is "info" or "warning"."""

    kind = "log"
    at_once = True
    level: str
    text: str

    def line(self) -> str:
        return f"  {self.text}"


@dataclass(frozen=True)
class ExperimentsCounted(Event):
    """Answers so far by `MeasurementState`.

    `unsettled` and `contended` are None where a checkpoint has forgotten the states: then `failed` are all
    answers that cannot be used, and the payload has no other state.
    """

    kind = "experiments"
    replaced = True
    asked: Count
    settled: Count
    unsettled: Annotated[Count | None, OMIT_NONE] = None
    contended: Annotated[Count | None, OMIT_NONE] = None
    failed: Count = 0


@dataclass(frozen=True)
class WaitChanged(Event):
    """What the run waits for; "" for nothing."""

    kind = "waiting"
    text: str


@dataclass(frozen=True)
class StateChanged(Event):
    """The run's state has changed; `versions` of the software that does the run from now on."""

    kind = "state"
    state: str
    error: Annotated[str, OMIT_EMPTY] = ""
    versions: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultStored(Event):
    """What came of the run: facts that each kind of run chooses, most have the `name` of what was made."""

    kind = "result"
    facts: Json

    def payload(self) -> Json:
        return self.facts

    @classmethod
    def read(cls, payload: Json, *, strict: bool = False) -> Self:
        """Nothing to check: pages show of it only what they find."""
        del strict
        return cls(payload)


_PLURAL = re.compile(r"^(\S*(?:[cs]h|[sx]))es\b|^(\S+?)s\b")


def _one(unit: str) -> str:
    """Of searches a search, of "mappings of a generation" a "mapping of a generation"."""
    return _PLURAL.sub(r"\1\2", unit)


def rate_in_words(per_second: float, unit: str) -> str:
    """As people say it: many `unit` (in the plural) per second, or seconds for each; "" for none."""
    if not per_second:
        return ""
    if per_second < 1:
        return f"{1 / per_second:.3g} s per {_one(unit)}"
    return f"{per_second:.3g} {unit} per second"
