"""Folds a run's journal into the record that its page shows, live or years later."""

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
from inference.runs.events import HeatMapEvent, RecordPart, empty_parts
from inference.runs.journal import events_since
from inference.runs.leases import busy_seconds

Point = TypeVar("Point")

JOURNAL_LIMIT = 50_000
"""Maximum number of events read for one page. Longer journals are thinned to fewer points of their curves."""

REMEMBERED_RUNS, REMEMBERED_EVENTS = 128, 1000
"""Number of records that a web process caches, and the longest journals that it caches."""

AT_HAND = 4
"""Number of complete journals in the cache: a page and its pictures are requested one after the other."""

_ONLY_LAST = (Generation.kind, Cloud.kind)
"""Kinds of events of which plots need all, but the text of the page only the newest."""

PHASE_STATES = {"done": "done", "running": "current", "queued": "current"}
"""{state of the run: state of its current stage}; for other states, the stage is "stopped"."""


@dataclass
class Phase:
    """A stage of the run; `state` is "done", "current", "stopped" or "" for a future one.

    `name` is "" for a stage that has not begun. `busy_from` and `busy_to` are the run's seconds of work when
    the stage began and ended, None in journals of older versions.
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
    def busy_seconds(self) -> float | None:
        """Seconds of work on the stage so far, without pauses and waiting for a worker."""
        if self.busy_from is not None and self.busy_to is not None:
            return self.busy_to - self.busy_from
        if self.started is None or self.ended is None:
            return None
        return (self.ended - self.started).total_seconds()

    @property
    def seconds(self) -> float | None:
        """Seconds of work on a finished stage; None while it goes on."""
        return None if self.state == "current" else self.busy_seconds


@dataclass
class RunRecord:
    """The state of a run after event number `seq`."""

    seq: int = 0
    phases: list[Phase] = field(default_factory=list)
    progress: Progress | None = None
    experiments: ExperimentsCounted | None = None
    waiting: str = ""
    heat_map: HeatMapEvent | None = None
    result: Json = field(default_factory=dict)
    log: list[Json] = field(default_factory=list)
    parts: dict[str, RecordPart] = field(default_factory=empty_parts)

    @property
    def stage(self) -> str:
        """The label of the current or stopped stage; "" before the first."""
        labels = [phase.label for phase in self.phases if phase.state in ("current", "stopped")]
        return labels[0] if labels else ""

    def take(self, event: Json) -> None:
        at = datetime.fromisoformat(event["at"])
        self.seq = event["seq"]
        try:
            read_event = journal_events.read(event["kind"], event["payload"])
        except ValidationError as error:
            self._log(at, first_flaw(error, f"event {self.seq}, {event['kind']!r}, is not shown"), "warning")
            return
        if read_event is None:
            return
        self._take(read_event, at)
        for part in self.parts.values():
            part.take(read_event)
            if line := part.log_line(read_event):
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
                named = (
                    f"result: {facts['name']}" if "name" in facts else "result"
                )  # older versions stored questions without a name
                self._log(at, named, result=True)
            case Progress():
                self.progress = event
            case ExperimentsCounted():
                self.experiments = event
            case HeatMapEvent():
                self.heat_map = event

    def _log(self, at: datetime, text: str, level: str = "info", **facts: Any) -> None:
        self.log.append({"at": at, "level": level, "text": text, **facts})

    def _enter(self, event: PhaseStarted, at: datetime) -> None:
        self.waiting = ""
        self.progress = None  # it was the previous stage's
        by_index = {phase.index: phase for phase in self.phases}
        self.phases = [
            by_index.get(number) or Phase(label=label, index=number)
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
    """The record of events in order."""
    record = RunRecord()
    for event in events:
        record.take(event)
    return record


def record_of(run: Run) -> RunRecord:
    """The record of a stored run.

    Records of short runs that are not running are cached, without the events that only curves need.
    """
    return _record(run, _remembered_of(run)) if is_brief(run) else full_record_of(run)


def full_record_of(run: Run) -> RunRecord:
    """The record of the complete journal, shared by callers: do not modify it. The last `AT_HAND` are
    cached.
    """
    return _record(run, _journal(*cache_key(run)) if is_brief(run) else _read(run.pk, run.next_seq))


def is_brief(run: Run) -> bool:
    """Whether the run is not running and its journal is short enough to be cached."""
    return run.state != Run.State.RUNNING and run.next_seq <= REMEMBERED_EVENTS


def cache_key(run: Run) -> tuple[int, datetime, int]:
    """The cache key of a run that is not running: differs after every new event and for a reused id."""
    return run.pk, run.created, run.next_seq


def _record(run: Run, events: Iterable[Json]) -> RunRecord:
    record = fold(events)
    for phase in record.phases:
        if phase.started is not None and phase.busy_to is None:  # the last one that began
            phase.busy_to = busy_seconds(run)
    return record


def _remembered_of(run: Run) -> list[Json]:
    events: list[Json] = json.loads(zlib.decompress(_remember(*cache_key(run))))
    return events


@lru_cache(maxsize=REMEMBERED_RUNS)
def _remember(pk: int, created: datetime, next_seq: int) -> bytes:
    """Compressed JSON: as objects, events take twenty times the memory, and parsing takes less than a
    millisecond.
    """
    return zlib.compress(json.dumps(without_curves(_journal(pk, created, next_seq))).encode(), 1)


@lru_cache(maxsize=AT_HAND)
def _journal(pk: int, created: datetime, next_seq: int) -> list[Json]:
    return _read(pk, next_seq)


def _read(pk: int, next_seq: int) -> list[Json]:
    points = 1 if next_seq <= JOURNAL_LIMIT else 2 * math.ceil(next_seq / JOURNAL_LIMIT)
    events = events_since(pk, 0, limit=JOURNAL_LIMIT, points=points)
    # Events after the row was read reach the page through its socket.
    return [event for event in events if event["seq"] < next_seq]


def without_curves(events: Sequence[Json]) -> list[Json]:
    """The events without those that only curves need."""
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
