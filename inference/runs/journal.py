"""The journal of a run: events numbered without gaps, written only under a valid lease.

Every write is one transaction: a conditional UPDATE of the run's row, which reserves the numbers and checks
the lease, then the events.
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
    """The right to work on a run, as a value that is sent to the process of the run.

    Attributes:
        run_id: The run's primary key.
        token: Number of the claim; a newer claim of the run has a higher one.
        worker: Name of the worker that claimed the run.
        busy_before: Seconds of work by earlier holders.
        claimed: Moment of the claim on the monotonic clock, which all processes of a computer share; a lease
            must not be sent to another computer.
        kind: The run's kind, so that the fork server loads its modules without a query.
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
        """Encoding for the process of the run; `from_text` reads it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Lease:
        return cls(**json.loads(text))


LEASE_TIME = timedelta(seconds=10)
"""Silence of a holder after which another worker may claim the run."""

Entry = tuple[str, Json]
"""(kind, payload) of an event that has no number yet."""


def write(rows: QuerySet[Run], run_id: int, entries: Sequence[Entry], **changes: Any) -> int | None:
    """Change one run's row and journal the entries, if the row still meets the conditions of `rows`.

    Args:
        rows: Conditions on the run's row, such as a valid lease.
        run_id: The run's primary key.
        entries: Events to append.
        changes: New values of the row's fields.

    Returns:
        The number of the first entry; None if the row does not meet the conditions: nothing was written.
    """
    with transaction.atomic():
        if not rows.filter(pk=run_id).update(next_seq=F("next_seq") + len(entries), **changes):
            return None
        first = Run.objects.values_list("next_seq", flat=True).get(pk=run_id) - len(entries)
        RunEvent.objects.bulk_create(
            RunEvent(run_id=run_id, seq=seq, kind=kind, payload=payload)
            for seq, (kind, payload) in enumerate(entries, start=first)
        )
        _empty_replaced_events(run_id, entries, first)
        wakeups.announce(wakeups.NEWS)
        return first


def lock_run(run_id: int) -> None:
    """Lock the run's row until the transaction ends, so that several statements see the same row.

    SQLite ignores it: a transaction that writes is the only one there.
    """
    Run.objects.select_for_update(no_key=True).filter(pk=run_id).values_list("pk").first()


def append(
    lease: Lease,
    entries: Sequence[Entry],
    checkpoint: bytes | None = None,
    progress: Json | None = None,
) -> int:
    """Write events, checkpoint and progress in one transaction, which also renews the lease.

    Args:
        lease: The caller's lease.
        entries: Events to append; may be empty.
        checkpoint: Encoded checkpoint that replaces the stored one; None keeps it.
        progress: Progress for lists and pages; None keeps it.

    Returns:
        The number of the first event.

    Raises:
        LeaseLostError: Another worker has claimed the run.
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
        first = write(fenced_rows(lease), lease.run_id, entries, **changes)
        if first is None:
            raise LeaseLostError(lease.run_id, lease.token)
        if checkpoint is not None:
            RunCheckpoint.objects.update_or_create(run_id=lease.run_id, defaults={"data": checkpoint})
    return first


def fenced_rows(lease: Lease) -> QuerySet[Run]:
    """The run's row while the lease is valid, else no row: the fence of every write."""
    return Run.objects.filter(pk=lease.run_id, lease_token=lease.token, state=Run.State.RUNNING)


def events_since(run_id: int, seq: int, limit: int = 500, *, points: int = 1) -> list[Json]:
    """Events of a run with a number above `seq`, in order: {"seq", "kind", "payload", "at"}.

    Of pictures and progress only the newest is returned: it replaces the earlier ones.

    Args:
        run_id: The run's primary key.
        seq: Number of the last event that the reader has.
        limit: Largest number of events returned.
        points: Of the points of curves, return the newest and every `points`-th number; 1 returns all.
    """
    events = RunEvent.objects.filter(run_id=run_id, seq__gt=seq)
    curves = [name for name, kind in journal_events.kinds().items() if kind.point]
    thinned_kinds = journal_events.replaced() + (curves if points > 1 else [])
    newest = (
        events.filter(kind__in=thinned_kinds)
        .order_by()
        .values("kind")
        .annotate(last=Max("seq"))
        .values_list("last", flat=True)
    )
    condition = ~Q(kind__in=thinned_kinds) | Q(seq__in=list(newest))
    if points > 1:
        events = events.annotate(beyond=Mod("seq", points))
        condition |= Q(kind__in=curves, beyond=0)
    bulky = _bulky_kinds()
    visible_events = events.filter(condition).order_by("seq")
    return [
        {"seq": seq, "kind": kind, "payload": payload, "at": at.isoformat()}
        for seq, kind, payload, at in visible_events.values_list("seq", "kind", "payload", "at")[:limit]
        if payload or kind not in bulky  # emptied between the two queries: a newer event exists
    ]


def _empty_replaced_events(run_id: int, entries: Sequence[Entry], first: int) -> None:
    """Empty the payloads of bulky events that the new entries replace; their numbers stay."""
    newest = {kind: seq for seq, (kind, _) in enumerate(entries, start=first) if kind in _bulky_kinds()}
    for kind, last in newest.items():
        older = RunEvent.objects.filter(run_id=run_id, kind=kind, seq__lt=last)
        older.exclude(payload={}).update(payload={})


def _bulky_kinds() -> set[str]:
    return {name for name, kind in journal_events.kinds().items() if kind.bulky}
