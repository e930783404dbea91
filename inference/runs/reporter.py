"""The listener of a search: turns its many events into a few journal writes per second."""

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

FLUSH_EVERY = 0.4
"""Seconds between journal writes."""
CHECKPOINT_EVERY = 2.0
"""Seconds between stored checkpoints at least."""
_COST_SHARE = 20  # a picture or a checkpoint that costs t seconds comes at most every 20 t: 5 % of the time
_LONGEST_PAUSE = 20.0  # seconds; whatever took more than one of them was waiting for somebody else

Clock = Callable[[], float]
Drawn = TypeVar("Drawn", bound=Event)


@dataclass
class WriteInterval:
    """When something that costs time may happen again."""

    every: float
    clock: Clock
    _next: float = float("-inf")

    def due(self) -> bool:
        """Whether it may happen now."""
        return self.clock() >= self._next

    def spent(self, started: float) -> None:
        """It has happened, and began at `started` of the same clock."""
        now = self.clock()
        self._next = now + max(self.every, min(_COST_SHARE * (now - started), _LONGEST_PAUSE))


@dataclass
class _Picture:
    """Events of one class that are drawn now and then instead of being journalled one by one."""

    draw: Callable[[Any], Event]
    pace: WriteInterval
    waiting: Event | None = None


class JournalReporter:
    """A `Reporter` over the journal of one run.

    `wishes` answers what the run shall do instead of going on ("" for nothing). A search that was taken up
    again from a checkpoint tells some things a second time; those that the journal has are left out.
    Threads may share it.
    """

    def __init__(self, lease: Lease, wishes: Callable[[], str], clock: Clock = time.monotonic) -> None:
        self._lease = lease
        self._wishes = wishes
        self._clock = clock
        self._entries: list[Entry] = []
        self._progress: Json | None = None
        self._checkpoint: Checkpoint | None = None
        self._pictures: dict[type[Event], _Picture] = {}
        self._flush = WriteInterval(FLUSH_EVERY, clock)
        self._save = WriteInterval(CHECKPOINT_EVERY, clock)
        self._phase, self._label = _stage_reached(lease.run_id)
        self._logged = set(_journalled_lines(lease.run_id))
        self._told = _last_told(lease.run_id)
        self._lock = threading.RLock()
        self._finishing = False

    def draw(self, source: type[Drawn], draw: Callable[[Drawn], Event], every: float) -> None:
        """Journal events of a class as pictures, at most one in `every` seconds."""
        self._pictures[source] = _Picture(draw, WriteInterval(every, self._clock))

    def emit(self, event: Event) -> None:
        """Take an event; it reaches the journal within half a second."""
        picture = self._pictures.get(type(event))
        if picture is not None:
            picture.waiting = event
        elif event.kind:
            with self._lock:
                self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, PhaseStarted):
            event = replace(event, busy=round(self._lease.busy_seconds(), 3))
        kind, payload = event.entry
        if self._is_known(event):
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
        """A stage begins without progress; that of the one before would be taken for its own."""
        self._phase, self._label = phase, label
        self._progress = {"phase": phase, "label": label}

    def save(self, checkpoint: Checkpoint) -> None:
        """Take a checkpoint; the newest one is stored every few seconds, and when the run is interrupted."""
        with self._lock:
            self._checkpoint = checkpoint
            self._flush_if_due()

    def settle(self, checkpoint: Checkpoint, store: Callable[[], None]) -> None:
        """Write what waits, this checkpoint and the rows that `store` makes, all in one transaction.

        So a run that goes on from the checkpoint has these rows, each once. Raises `LeaseLostError`, and then
        nothing has been stored.
        """
        with self._lock:
            self._checkpoint = checkpoint
            self._draw_pictures(only_due=True)
            with transaction.atomic():
                self._write(with_checkpoint=True)
                store()

    def finish(self) -> None:
        """The run comes to its end with what it has: whoever asks for that interrupts it no longer."""
        self._finishing = True

    def pulse(self) -> None:
        """Raises `InterruptedRunError` when asked to stop, `LeaseLostError` when fenced off."""
        wish = self._wishes()
        if wish and not (wish == KEEP and self._finishing):
            raise InterruptedRunError(wish)
        with self._lock:
            self._flush_if_due()

    def flush(self) -> None:
        """Write everything that waits, the newest checkpoint included."""
        with self._lock:
            self._draw_pictures(only_due=False)
            self._write(with_checkpoint=True)

    def _flush_if_due(self) -> None:
        if self._flush.due():
            self._draw_pictures(only_due=True)
            self._write(with_checkpoint=self._save.due())

    def _draw_pictures(self, *, only_due: bool) -> None:
        for picture in self._pictures.values():
            if picture.waiting is None or (only_due and not picture.pace.due()):
                continue
            started = self._clock()
            event, picture.waiting = picture.waiting, None
            self._entries.append(picture.draw(event).entry)
            picture.pace.spent(started)

    def _write(self, *, with_checkpoint: bool) -> None:
        checkpoint = self._checkpoint if with_checkpoint else None
        if not self._entries and checkpoint is None:
            return
        started = self._clock()
        data = None if checkpoint is None else checkpoints.encode(checkpoint)
        # Taken out first: an event that cannot be stored must not fail the write that tells so.
        entries, self._entries = self._entries, []
        journal.append(self._lease, entries, checkpoint=data, progress=self._progress)
        self._flush.spent(started)
        if checkpoint is not None:
            self._checkpoint = None
            self._save.spent(started)

    def _is_known(self, event: Event) -> bool:
        if isinstance(event, Log):
            return event.text in self._logged
        if isinstance(event, Progress):
            return self._phase is not None and event.phase != self._phase
        if not event.is_numbered():
            return False
        number, series = event.position, event.series
        if number <= self._told.get(series, number - 1):
            return True
        self._told[series] = number
        return False


def _last_told(run_id: int) -> dict[tuple[str, int], int]:
    """The last number of each series in the journal."""
    found: dict[tuple[str, int], int] = {}
    for name, kind in journal_events.kinds().items():
        if not kind.is_numbered():
            continue
        events = RunEvent.objects.filter(run_id=run_id, kind=name).order_by("-seq")
        payloads = events.values_list("payload", flat=True)
        for payload in payloads if kind.side_by_side else payloads[:1]:
            event = kind.read(payload)
            found.setdefault(event.series, event.position)
    return found


def _stage_reached(run_id: int) -> tuple[str | None, str]:
    """Its name and how it is called, (None, "") before the first."""
    events = RunEvent.objects.filter(run_id=run_id, kind=PhaseStarted.kind).order_by("-seq")
    last = events.values_list("payload", flat=True).first()
    if last is None:
        return None, ""
    phase = PhaseStarted.read(last)
    return phase.name, phase.label


def _journalled_lines(run_id: int) -> list[str]:
    events = RunEvent.objects.filter(run_id=run_id, kind=Log.kind)
    return [Log.read(payload).text for payload in events.values_list("payload", flat=True)]
