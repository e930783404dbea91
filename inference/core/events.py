"""The events that runs of every kind have, and what keeps a listener from drowning in them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from inference.core.errors import KEEP, InterruptedRunError
from inference.core.event import OMIT_EMPTY, OMIT_NONE, Amount, Count, Event
from inference.core.protocols import Checkpoint, Json, Reporter

# Keeping a listener informed without drowning it: what may be said how often.


PULSE_EVERY = 0.1  # seconds
TELL_EVERY = 0.5
SHOW_EVERY = 2.0
SAVE_EVERY = 3.0
SAVE_SHARE = 0.05  # at most this share of the time goes into saving


class PacedReporter:
    """A reporter behind rate limits. Nothing here may influence what the search finds."""

    def __init__(self, reporter: Reporter, clock: Callable[[], float] = time.monotonic) -> None:
        self._reporter = reporter
        self.clock = clock
        self._pulsed = clock()
        self._saved = clock()
        self._save_cost = 0.0
        self._told: dict[str, float] = {}
        self.may_finish = False
        """Whether there is something to keep: then the wish to stop and keep it interrupts nothing."""
        self.finishing = False
        """Whether somebody wants the best that there is, and the search shall come to its end."""
        self._began = clock()
        self._deadline: float | None = None

    def limit(self, seconds: float) -> None:
        """Wish for the best that there is after so many seconds."""
        self._began = self.clock()
        self._deadline = self._began + seconds

    @property
    def elapsed(self) -> float:
        """Share of the time limit that is over; 0 without one."""
        return (
            0.0 if self._deadline is None else (self.clock() - self._began) / (self._deadline - self._began)
        )

    def pulse(self) -> None:
        """Cheap enough for inner loops; raises `InterruptedRunError` when somebody wants a stop."""
        now = self.clock()
        if self._deadline is not None and now > self._deadline and self.may_finish and not self.finishing:
            self.finishing = True
            self.emit(Log("warning", "the time limit is reached: the search ends with the best so far"))
        if now - self._pulsed >= PULSE_EVERY:
            self._pulsed = now
            try:
                self._reporter.pulse()
            except InterruptedRunError as error:
                if error.wanted != KEEP or not self.may_finish:
                    raise
                self.finishing = True

    def emit(self, event: Event) -> None:
        """Tell at once."""
        self._reporter.emit(event)

    def due(self, kind: str, every: float = TELL_EVERY) -> bool:
        """Whether that much time has passed since this was last true for the kind; at first it is."""
        now = self.clock()
        if kind in self._told and now - self._told[kind] < every:
            return False
        self._told[kind] = now
        return True

    def save(self, make: Callable[[], Checkpoint], *, now: bool = False) -> None:
        """Save if it is time, or `now`; large checkpoints are saved less often."""
        start = self.clock()
        if not now and start - self._saved < max(SAVE_EVERY, self._save_cost / SAVE_SHARE):
            return
        self._reporter.save(make())
        self._saved = self.clock()
        self._save_cost = self._saved - start


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
        """Of the stage itself."""
        return self.labels[self.index - 1]

    @staticmethod
    def line(payload: Json) -> str:
        """Which of how many, and its label."""
        labels = payload["labels"]
        return f"[{payload['index']}/{len(labels)}] {labels[payload['index'] - 1]}"


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

    @staticmethod
    def line(payload: Json) -> str:
        """Done of all, how fast, and what is left."""
        eta = "" if payload["eta"] is None else f", {payload['eta']:.0f} s to go"
        pace = rate_in_words(payload["rate"], payload["unit"])
        return f"  {payload['done']} of {payload['total']}{f', {pace}' if pace else ''}{eta}"


@dataclass(frozen=True)
class Log(Event):
    """A sentence for the reader; level is "info" or "warning"."""

    kind = "log"
    at_once = True
    level: str
    text: str

    @staticmethod
    def line(payload: Json) -> str:
        """The sentence."""
        return f"  {payload['text']}"


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
        """The facts alone."""
        return self.facts

    @classmethod
    def check(cls, payload: Json) -> None:
        """Nothing to check: pages show of it only what they find."""


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
