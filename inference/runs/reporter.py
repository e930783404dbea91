"""The `Reporter` of a run's search: turns its many events into a few journal writes per second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from django.db import transaction

from inference.core import checkpoint as checkpoints
from inference.core.errors import KEEP, InterruptedRunError
from inference.core.events import Event, Log, PhaseStarted, Progress
from inference.core.protocols import Checkpoint, Json
from inference.formats import journal_events
from inference.models import RunEvent
from inference.runs import journal
from inference.runs.journal import Entry, Lease

FLUSH_INTERVAL = 0.4
"""Seconds between journal writes."""

CHECKPOINT_INTERVAL = 2.0
"""Seconds between stored checkpoints at least."""

_COST_SHARE = 20  # a picture or a checkpoint that costs t seconds comes at most every 20 t: 5 % of the time
_MAX_PAUSE = 20.0  # seconds; whatever took more than one of them was waiting for somebody else

Clock = Callable[[], float]
SourceEvent = TypeVar("SourceEvent", bound=Event)


@dataclass
class WriteInterval:
    """Limits how often something that costs time happens: at least `seconds` apart, and 5 % of the time."""

    seconds: float
    clock: Clock
    _next_time: float = float("-inf")

    def due(self) -> bool:
        """Whether the interval since the last time has passed."""
        return self.clock() >= self._next_time

    def record(self, started: float) -> None:
        """Record that it has just happened; `started` is its begin on the same clock."""
        now = self.clock()
        self._next_time = now + max(self.seconds, min(_COST_SHARE * (now - started), _MAX_PAUSE))


@dataclass
class _Picture:
    """Events of one class of which only the newest is drawn and journalled, once per interval."""

    draw: Callable[[Any], Event]
    interval: WriteInterval
    pending: Event | None = None


class JournalReporter:
    """A `Reporter` over the journal of one run; threads may share it.

    A resumed search repeats the events since its checkpoint; events that the journal has are dropped.

    Args:
        lease: Lease of the attempt.
        requested_transition: Returns the transition that was requested of the run, "" for none.
        clock: Seconds, monotonic.
    """

    def __init__(
        self, lease: Lease, requested_transition: Callable[[], str], clock: Clock = time.monotonic
    ) -> None:
        self._lease = lease
        self._requested_transition = requested_transition
        self._clock = clock
        self._entries: list[Entry] = []
        self._progress: Json | None = None
        self._checkpoint: Checkpoint | None = None
        self._pictures: dict[type[Event], _Picture] = {}
        self._flush = WriteInterval(FLUSH_INTERVAL, clock)
        self._save = WriteInterval(CHECKPOINT_INTERVAL, clock)
        self._phase, self._label = _journalled_stage(lease.run_id)
        self._logged = set(_journalled_lines(lease.run_id))
        self._positions = _journalled_positions(lease.run_id)
        self._lock = threading.RLock()
        self._finishing = False

    def draw(self, source: type[SourceEvent], draw: Callable[[SourceEvent], Event], every: float) -> None:
        """Journal events of the class `source` as pictures.

        Args:
            source: Class of the events.
            draw: Makes the event of the picture from the newest one.
            every: Least seconds between two pictures.
        """
        self._pictures[source] = _Picture(draw, WriteInterval(every, self._clock))

    def emit(self, event: Event) -> None:
        """Journal an event, within half a second."""
        picture = self._pictures.get(type(event))
        if picture is not None:
            picture.pending = event
        elif event.kind:
            with self._lock:
                self._append(event)

    def _append(self, event: Event) -> None:
        if isinstance(event, PhaseStarted):
            event = replace(event, busy=round(self._lease.busy_seconds(), 3))
        kind, payload = event.entry
        if self._is_repeated(event):
            return
        if event.replaced:
            self._entries = [entry for entry in self._entries if entry[0] != kind]
        if isinstance(event, PhaseStarted):
            self._enter(event.name, event.label)
        elif isinstance(event, Progress):
            self._progress = {**payload, "label": self._label} if self._label else payload
        self._entries.append((kind, payload))
        if event.at_once:
            self._write(with_checkpoint=False)
        else:
            self._flush_if_due()

    def _enter(self, phase: str, label: str) -> None:
        """Reset the progress for a new stage: that of the last stage would be shown as its own."""
        self._phase, self._label = phase, label
        self._progress = {"phase": phase, "label": label}

    def save(self, checkpoint: Checkpoint) -> None:
        """Store the newest checkpoint every few seconds, and when the run is interrupted."""
        with self._lock:
            self._checkpoint = checkpoint
            self._flush_if_due()

    def settle(self, checkpoint: Checkpoint, store: Callable[[], None]) -> None:
        """Write pending events, this checkpoint and the rows of `store` in one transaction.

        A run that resumes from the checkpoint has these rows, each once.

        Raises:
            LeaseLostError: Another worker has claimed the run; nothing was stored.
        """
        with self._lock:
            self._checkpoint = checkpoint
            self._draw_pictures(only_due=True)
            with transaction.atomic():
                self._write(with_checkpoint=True)
                store()

    def finish(self) -> None:
        """Ignore requests to keep the partial result from now on: the run is ending with it."""
        self._finishing = True

    def pulse(self) -> None:
        """Flush if due.

        Raises:
            InterruptedRunError: A transition was requested.
            LeaseLostError: Another worker has claimed the run.
        """
        transition = self._requested_transition()
        if transition and not (transition == KEEP and self._finishing):
            raise InterruptedRunError(transition)
        with self._lock:
            self._flush_if_due()

    def flush(self) -> None:
        """Write all pending events, pictures and the newest checkpoint."""
        with self._lock:
            self._draw_pictures(only_due=False)
            self._write(with_checkpoint=True)

    def _flush_if_due(self) -> None:
        if self._flush.due():
            self._draw_pictures(only_due=True)
            self._write(with_checkpoint=self._save.due())

    def _draw_pictures(self, *, only_due: bool) -> None:
        for picture in self._pictures.values():
            if picture.pending is None or (only_due and not picture.interval.due()):
                continue
            started = self._clock()
            event, picture.pending = picture.pending, None
            self._entries.append(picture.draw(event).entry)
            picture.interval.record(started)

    def _write(self, *, with_checkpoint: bool) -> None:
        checkpoint = self._checkpoint if with_checkpoint else None
        if not self._entries and checkpoint is None:
            return
        started = self._clock()
        data = None if checkpoint is None else checkpoints.encode(checkpoint)
        # Removed before the write: an event that cannot be stored must not fail the write of the error, too.
        entries, self._entries = self._entries, []
        journal.append(self._lease, entries, checkpoint=data, progress=self._progress)
        self._flush.record(started)
        if checkpoint is not None:
            self._checkpoint = None
            self._save.record(started)

    def _is_repeated(self, event: Event) -> bool:
        if isinstance(event, Log):
            return event.text in self._logged
        if isinstance(event, Progress):
            return self._phase is not None and event.phase != self._phase
        if not event.is_numbered():
            return False
        number, series = event.position, event.series
        if number <= self._positions.get(series, number - 1):
            return True
        self._positions[series] = number
        return False


def _journalled_positions(run_id: int) -> dict[tuple[str, int], int]:
    """{series: last number in the journal}."""
    positions: dict[tuple[str, int], int] = {}
    for name, kind in journal_events.kinds().items():
        if not kind.is_numbered():
            continue
        events = RunEvent.objects.filter(run_id=run_id, kind=name).order_by("-seq")
        payloads = events.values_list("payload", flat=True)
        for payload in payloads if kind.side_by_side else payloads[:1]:
            event = kind.read(payload)
            positions.setdefault(event.series, event.position)
    return positions


def _journalled_stage(run_id: int) -> tuple[str | None, str]:
    """(name, label) of the last stage in the journal; (None, "") before the first."""
    events = RunEvent.objects.filter(run_id=run_id, kind=PhaseStarted.kind).order_by("-seq")
    last = events.values_list("payload", flat=True).first()
    if last is None:
        return None, ""
    phase = PhaseStarted.read(last)
    return phase.name, phase.label


def _journalled_lines(run_id: int) -> list[str]:
    events = RunEvent.objects.filter(run_id=run_id, kind=Log.kind)
    return [Log.read(payload).text for payload in events.values_list("payload", flat=True)]
