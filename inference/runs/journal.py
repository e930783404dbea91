"""The journal of a run: events numbered without gaps, written only by whoever may.

Every write is one conditional UPDATE of the run's row, which reserves the numbers and proves the right to
write, followed by the events, all in one transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.db.models.functions import Mod
from django.utils import timezone

from inference.core.protocols import Json
from inference.formats import journal_events
from inference.models import Run, RunCheckpoint, RunEvent
from inference.runs import wakeups
from inference.runs.errors import LeaseLostError


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a run, a value that travels to the process of the run.

    `claimed` is the moment of the claim and `busy_before` the seconds that earlier holders worked, so that
    every holder of this value can say how long the run has been worked on. The moment is one of the clock
    that nobody sets, the same in all processes of a computer: a lease does not travel further. `kind`: the
    run's, so that what it needs can be loaded before anybody looks at the run.
    """

    run_id: int
    token: int
    worker: str
    busy_before: float = 0.0
    claimed: float = field(default_factory=time.monotonic)
    kind: str = ""

    def busy_seconds(self) -> float:
        """Seconds of work on this run so far, over all attempts."""
        return self.busy_before + time.monotonic() - self.claimed

    def as_text(self) -> str:
        """For the process that does the run."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Lease:
        return cls(**json.loads(text))


LEASE_TIME = timedelta(seconds=10)
"""How long a holder may be silent before somebody else takes the run over."""

Entry = tuple[str, Json]
"""An event before it has a number: its kind and its payload."""


def write(rows: QuerySet[Run], run_id: int, entries: Sequence[Entry], **changes: Any) -> int | None:
    """Change one run's row and journal the entries, if the row still meets the conditions of `rows`.

    Returns the number of the first entry, or None where the row did not meet them and nothing happened.
    """
    with transaction.atomic():
        if not rows.filter(pk=run_id).update(next_seq=F("next_seq") + len(entries), **changes):
            return None
        first = Run.objects.values_list("next_seq", flat=True).get(pk=run_id) - len(entries)
        RunEvent.objects.bulk_create(
            RunEvent(run_id=run_id, seq=seq, kind=kind, payload=payload)
            for seq, (kind, payload) in enumerate(entries, start=first)
        )
        _shed_bulk(run_id, entries, first)
        wakeups.announce(wakeups.NEWS)
        return first


def hold(run_id: int) -> None:
    """Until the transaction ends nobody else changes the run's row: several statements see it as one.

    Where the database has one writer at a time, nobody could anyway.
    """
    Run.objects.select_for_update(no_key=True).filter(pk=run_id).values_list("pk").first()


def append(
    lease: Lease,
    entries: Sequence[Entry],
    checkpoint: bytes | None = None,
    progress: Json | None = None,
) -> int:
    """Events, checkpoint and progress in one transaction, which also renews the lease.

    Returns the number of the first event. Raises `LeaseLostError` where the lease is somebody else's now.
    """
    changes: dict[str, Any] = {
        "lease_until": timezone.now() + LEASE_TIME,
        "busy_seconds": lease.busy_seconds(),
    }
    if progress is not None:
        changes["progress"] = progress
    if checkpoint is not None:
        changes["attempts"] = 1  # attempts count claims since the last progress
    with transaction.atomic():
        first = write(held(lease), lease.run_id, entries, **changes)
        if first is None:
            raise LeaseLostError(lease.run_id, lease.token)
        if checkpoint is not None:
            RunCheckpoint.objects.update_or_create(run_id=lease.run_id, defaults={"data": checkpoint})
    return first


def held(lease: Lease) -> QuerySet[Run]:
    """The run's row as long as this lease on it is valid; the fence that every write passes."""
    return Run.objects.filter(pk=lease.run_id, lease_token=lease.token, state=Run.State.RUNNING)


def events_since(run_id: int, seq: int, limit: int = 500, *, points: int = 1) -> list[Json]:
    """Events of a run with a number above `seq`, in order: {"seq", "kind", "payload", "at"}.

    Pictures and progress that a newer event replaces are left out: a late reader needs the last one only.
    So are points of curves, but for the newest and one of so many numbers, where `points` is more than 1.
    """
    events = RunEvent.objects.filter(run_id=run_id, seq__gt=seq)
    curves = [name for name, kind in journal_events.kinds().items() if kind.point]
    thinned = journal_events.replaced() + (curves if points > 1 else [])
    newest = (
        events.filter(kind__in=thinned)
        .order_by()
        .values("kind")
        .annotate(last=Max("seq"))
        .values_list("last", flat=True)
    )
    wanted = ~Q(kind__in=thinned) | Q(seq__in=list(newest))
    if points > 1:
        events = events.annotate(beyond=Mod("seq", points))
        wanted |= Q(kind__in=curves, beyond=0)
    bulky = _bulky_kinds()
    shown = events.filter(wanted).order_by("seq")
    return [
        {"seq": seq, "kind": kind, "payload": payload, "at": at.isoformat()}
        for seq, kind, payload, at in shown.values_list("seq", "kind", "payload", "at")[:limit]
        if payload or kind not in bulky  # shed between the two queries: a newer one is there
    ]


def _shed_bulk(run_id: int, entries: Sequence[Entry], first: int) -> None:
    """Empty the bulky events that those just written replace; their numbers stay."""
    newest = {kind: seq for seq, (kind, _) in enumerate(entries, start=first) if kind in _bulky_kinds()}
    for kind, last in newest.items():
        older = RunEvent.objects.filter(run_id=run_id, kind=kind, seq__lt=last)
        older.exclude(payload={}).update(payload={})


def _bulky_kinds() -> set[str]:
    return {name for name, kind in journal_events.kinds().items() if kind.bulky}
