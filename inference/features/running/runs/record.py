"""A run's journal folded into what its page shows, live or years later."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError

from inference.core.events import (
    Event,
    ExperimentsCounted,
    Log,
    PhaseStarted,
    Progress,
    ResultStored,
    StateChanged,
    WaitChanged,
)
from inference.core.pmevo.events import Cloud, Generation
from inference.core.protocols import Json
from inference.formats import journal_events
from inference.formats.archived_parts import first_flaw
from inference.models import Run
from inference.runs.events import HeatMapDrawn, RecordPart, empty_parts
from inference.runs.journal import events_since
from inference.runs.leases import busy_seconds

Point = TypeVar("Point")

JOURNAL_LIMIT = 50_000
"""Events read for one page: of longer stories, fewer points of their curves."""

REMEMBERED_RUNS, REMEMBERED_EVENTS = 128, 1000
"""Of how many runs a web process keeps in mind what was told, and how long their journals may be."""

AT_HAND = 4
"""Whole journals kept, pictures included: what a page shows and its pictures are made one after the other."""

_ONLY_LAST = (Generation.kind, Cloud.kind)
"""Kinds of events of which pictures show all, and words the newest."""

PHASE_STATES = {"done": "done", "running": "current", "queued": "current"}
"""What becomes of the stage at hand when the run changes its state; in all others it has stopped."""


@dataclass
class Phase:
    """A stage of the run; `state` is "done", "current", "stopped" or "" for one that is still to come.

    `name` is "" for one that has not begun. `busy_from` and `busy_to`: seconds of work on the run when the
    stage began and ended; journals from before they were told have None.
    """

    label: str
    index: int
    name: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    busy_from: float | None = None
    busy_to: float | None = None
    state: str = ""

    @property
    def spent(self) -> float | None:
        """Seconds of work on the stage so far: pauses and waiting for a worker do not count."""
        if self.busy_from is not None and self.busy_to is not None:
            return self.busy_to - self.busy_from
        if self.started is None or self.ended is None:
            return None
        return (self.ended - self.started).total_seconds()

    @property
    def seconds(self) -> float | None:
        """How long the stage took; None while it goes on."""
        return None if self.state == "current" else self.spent


@dataclass
class RunRecord:
    """Everything the journal says up to event number `seq`."""

    seq: int = 0
    phases: list[Phase] = field(default_factory=list)
    progress: Progress | None = None
    experiments: ExperimentsCounted | None = None
    waiting: str = ""
    heat_map: HeatMapDrawn | None = None
    result: Json = field(default_factory=dict)
    log: list[Json] = field(default_factory=list)
    parts: dict[str, RecordPart] = field(default_factory=empty_parts)

    @property
    def stage(self) -> str:
        """The label of the stage at hand or where the run stopped; "" before the first."""
        labels = [phase.label for phase in self.phases if phase.state in ("current", "stopped")]
        return labels[0] if labels else ""

    def take(self, event: Json) -> None:
        at = datetime.fromisoformat(event["at"])
        self.seq = event["seq"]
        try:
            told = journal_events.read(event["kind"], event["payload"])
        except ValidationError as error:
            self._log(at, first_flaw(error, f"event {self.seq}, {event['kind']!r}, is not shown"), "warning")
            return
        if told is None:
            return
        self._take(told, at)
        for part in self.parts.values():
            part.take(told)
            if line := part.log_line(told):
                self._log(at, line)

    def _take(self, event: Event, at: datetime) -> None:
        match event:
            case PhaseStarted():
                self._enter(event, at)
                self._log(at, f"stage {event.index} of {len(self.phases)}: {self.stage}")
            case Log():
                self._log(at, event.text, event.level)
            case WaitChanged():
                self.waiting = event.text
            case StateChanged():
                self._change_state(event, at)
            case ResultStored(facts=facts):
                self.result = facts
                named = f"result: {facts['name']}" if "name" in facts else "result"  # old questions had none
                self._log(at, named, result=True)
            case Progress():
                self.progress = event
            case ExperimentsCounted():
                self.experiments = event
            case HeatMapDrawn():
                self.heat_map = event

    def _log(self, at: datetime, text: str, level: str = "info", **facts: Any) -> None:
        self.log.append({"at": at, "level": level, "text": text, **facts})

    def _enter(self, event: PhaseStarted, at: datetime) -> None:
        self.waiting = ""
        self.progress = None  # the stage before had it
        known = {phase.index: phase for phase in self.phases}
        self.phases = [
            known.get(number) or Phase(label=label, index=number)
            for number, label in enumerate(event.labels, start=1)
        ]
        for phase in self.phases:
            if phase.index < event.index:
                if phase.state != "done":
                    phase.ended = at if phase.started else None
                    phase.busy_to = event.busy
                phase.state = "done"
            elif phase.index == event.index:
                phase.state = "current"
                phase.name = event.name
                phase.started = phase.started or at
                phase.ended = None
                if phase.busy_from is None:
                    phase.busy_from = event.busy
            else:
                phase.state = ""

    def _change_state(self, event: StateChanged, at: datetime) -> None:
        state = event.state
        self.waiting = ""
        text = f"{state}: {event.error}" if event.error else state
        self._log(at, text, "warning" if state == "failed" else "info")
        for phase in self.phases:
            if phase.state in ("current", "stopped"):
                phase.ended = None if state in ("running", "queued") else at
                phase.state = PHASE_STATES.get(state, "stopped")


def fold(events: Iterable[Json]) -> RunRecord:
    """The record of these events, which are in order."""
    record = RunRecord()
    for event in events:
        record.take(event)
    return record


def record_of(run: Run) -> RunRecord:
    """The record of a stored run.

    That of one that is over, or waits, is remembered, without what curves alone need.
    """
    return _record(run, _remembered_of(run)) if is_brief(run) else whole_record_of(run)


def whole_record_of(run: Run) -> RunRecord:
    """All that the journal says, not to be changed; of runs that stand still the last few are at hand."""
    return _record(run, _told(*last_words(run)) if is_brief(run) else _read(run.pk, run.next_seq))


def is_brief(run: Run) -> bool:
    """Whether the run stands still, and is so short a story that it may be kept in mind."""
    return run.state != Run.State.RUNNING and run.next_seq <= REMEMBERED_EVENTS


def last_words(run: Run) -> tuple[int, datetime, int]:
    """What tells a run that stands still from any other, and from itself should it ever go on."""
    return run.pk, run.created, run.next_seq


def _record(run: Run, events: Iterable[Json]) -> RunRecord:
    record = fold(events)
    for phase in record.phases:
        if phase.started is not None and phase.busy_to is None:  # the last one that began
            phase.busy_to = busy_seconds(run)
    return record


def _remembered_of(run: Run) -> list[Json]:
    events: list[Json] = json.loads(zlib.decompress(_remembered(*last_words(run))))
    return events


@lru_cache(maxsize=REMEMBERED_RUNS)
def _remembered(pk: int, created: datetime, next_seq: int) -> bytes:
    """Compressed: as objects they are twenty times as large, and folding them takes no millisecond."""
    return zlib.compress(json.dumps(without_curves(_told(pk, created, next_seq))).encode(), 1)


@lru_cache(maxsize=AT_HAND)
def _told(pk: int, created: datetime, next_seq: int) -> list[Json]:
    return _read(pk, next_seq)


def _read(pk: int, next_seq: int) -> list[Json]:
    points = 1 if next_seq <= JOURNAL_LIMIT else 2 * math.ceil(next_seq / JOURNAL_LIMIT)
    told = events_since(pk, 0, limit=JOURNAL_LIMIT, points=points)
    # What came after the row was read is news to the page that shows the row: its socket will tell.
    return [event for event in told if event["seq"] < next_seq]


def without_curves(events: Sequence[Json]) -> list[Json]:
    """The events without those that curves alone need."""
    last = {event["kind"]: event["seq"] for event in events}
    return [
        event for event in events if event["kind"] not in _ONLY_LAST or event["seq"] == last[event["kind"]]
    ]


def thinned(points: list[Point], limit: int) -> list[Point]:
    """At most `limit` (≥ 2) of the points, evenly spaced, with both ends."""
    if len(points) <= limit:
        return list(points)
    step = (len(points) - 1) / (limit - 1)
    return [points[round(step * position)] for position in range(limit)]
