"""What a worker does to a run: claim it, keep it, end it, give it back.

All of it is conditional on the lease token: an UPDATE that matches no row means that the lease is lost.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib import metadata
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from inference import __version__
from inference.core.events import Event, Log, StateChanged
from inference.core.protocols import Json
from inference.models import Run
from inference.runs import wakeups
from inference.runs.errors import LeaseLostError
from inference.runs.journal import LEASE_TIME, Lease, held, hold, write

MAX_ATTEMPTS = 5
"""Claims without a checkpoint or new measurements in between, after which a run that kills its process is
given up."""

_CANDIDATES = 20

_FAR_AHEAD = 3 * LEASE_TIME
"""No lease and no pause before an attempt lasts so long: it was written before the clock was set back."""


def claim(
    worker: str,
    only: int | None = None,
    kinds: Collection[str] | None = None,
    besides: Collection[int] = (),
    watch: LeaseMonitor | None = None,
) -> Lease | None:
    """Take the oldest run that waits or whose holder is gone; None where there is none.

    `only` restricts the choice to one run, `kinds` to some kinds of runs; waiting ones that are named in
    `besides` are passed over. Whose lease has ended is gone if `watch` says so, too. Runs whose holder died
    after its user asked for a pause or a cancel, or that were tried too often, are settled on the way.
    """
    rows = _claimable(timezone.now())
    if only is not None:
        rows = rows.filter(pk=only)
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    if besides:
        rows = rows.exclude(pk__in=besides, state=Run.State.QUEUED)
    if not rows.exists():  # outside the transaction, which would take SQLite's only write lock
        return None
    with transaction.atomic():
        if watch is not None:
            watch.begin()
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, no_key=True)
        for _ in range(_CANDIDATES):
            # One at a time: rows that are looked at are locked, and other workers shall find the next ones.
            run = rows.order_by("id").first()
            if run is None:
                return None
            if watch is not None and run.state == Run.State.RUNNING and not watch.is_gone(run):
                rows = rows.exclude(pk=run.pk)
            elif not _settle_abandoned(run):
                return _take(run, worker)
    return None


def anything_waits(kinds: Collection[str]) -> bool:
    """Whether a run of these kinds waits, or lost its holder: all that a look costs while there is none."""
    return _claimable(timezone.now()).filter(kind__in=kinds).exists()


def heartbeat(lease: Lease) -> str:
    """Renew the lease; what the run's user wants (as `wanted`). Raises `LeaseLostError`."""
    renewed = held(lease).update(lease_until=timezone.now() + LEASE_TIME, busy_seconds=lease.busy_seconds())
    if not renewed:
        raise LeaseLostError(lease.run_id, lease.token)
    return wanted(lease)


def wanted(lease: Lease) -> str:
    """What the run's user wants: "", "pause", "cancel" or "keep". Raises `LeaseLostError`."""
    answer = held(lease).values_list("wanted", flat=True).first()
    if answer is None:
        raise LeaseLostError(lease.run_id, lease.token)
    return answer


def busy_seconds(run: Run) -> float:
    """Seconds of work on a run so far, with those since its holder last wrote.

    A holder that has been silent for longer than its lease does not count any further.
    """
    if run.state != Run.State.RUNNING or run.lease_until is None:
        return run.busy_seconds
    silent = timezone.now() - (run.lease_until - LEASE_TIME)
    return run.busy_seconds + min(max(silent, timedelta(0)), LEASE_TIME).total_seconds()


def is_held(lease: Lease) -> bool:
    """Whether the lease is still valid, that is: nobody has settled the run or taken it over."""
    return held(lease).exists()


def is_taken_over(lease: Lease) -> bool:
    """Whether somebody else has claimed the run since, or it is gone."""
    return not Run.objects.filter(pk=lease.run_id, lease_token=lease.token).exists()


def finish(lease: Lease, store: Callable[[], tuple[Json, Sequence[Event]]]) -> None:
    """Store a run's results and mark it done, in one transaction: exactly once or not at all.

    `store` writes the rows and returns the run's result with the events that tell of it.
    """
    with transaction.atomic():
        if not held(lease).update(lease_until=timezone.now() + LEASE_TIME):
            raise LeaseLostError(lease.run_id, lease.token)
        result, events = store()
        settle(lease, Run.State.DONE, events, result=result)


def fail(lease: Lease, error: str, events: Sequence[Event] = ()) -> None:
    """End a run as failed; the first line of `error` says why, the rest is its evidence.

    Evidence may be whatever a dying process wrote: what no database takes is replaced.
    """
    storable = error.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    settle(lease, Run.State.FAILED, events, error=storable)


def settle(lease: Lease, state: str, events: Sequence[Event] = (), **changes: Any) -> None:
    """Give up the lease and leave the run in a state in which nobody works on it."""
    busy = lease.busy_seconds()
    if not _settle(held(lease), lease.run_id, state, events, busy_seconds=busy, **changes):
        raise LeaseLostError(lease.run_id, lease.token)


def give_back(lease: Lease, note: str, *, counts: bool, delay: timedelta = timedelta(0)) -> None:
    """Put a run back into the queue with its checkpoint, not to be claimed before `delay` has passed.

    `counts` says whether this was an attempt (the process died) or not (the worker was asked to stop). A
    pause or a cancel that was asked for in the meantime is done instead; whoever takes up a run that shall
    keep what it has sees to that.
    """
    log = Log("warning" if counts else "info", note)
    with transaction.atomic():
        hold(lease.run_id)
        back = write(
            held(lease).filter(wanted__in=(Run.Wanted.NOTHING, Run.Wanted.KEEP)),
            lease.run_id,
            [log.entry, StateChanged(Run.State.QUEUED).entry],
            state=Run.State.QUEUED,
            lease_until=timezone.now() + delay,
            busy_seconds=lease.busy_seconds(),
            attempts=F("attempts") if counts else F("attempts") - 1,
        )
        if back is None:
            settle(lease, _STATE_OF_WISH[Run.Wanted(wanted(lease))], [log])
        else:
            wakeups.announce(wakeups.WORK)


_STATE_OF_WISH = {
    Run.Wanted.PAUSE: Run.State.PAUSED,
    Run.Wanted.CANCEL: Run.State.CANCELLED,
    Run.Wanted.KEEP: Run.State.CANCELLED,  # there was nothing yet that could be a result
}


def settle_as_wished(lease: Lease, wish: str) -> None:
    """End the work on a run as its user asked: "pause", "cancel" or "keep"."""
    settle(lease, _STATE_OF_WISH[Run.Wanted(wish)])


def abandoned(now: datetime) -> Q:
    """Runs whose holder has been silent for longer than its lease."""
    return Q(state=Run.State.RUNNING) & (Q(lease_until__lt=now) | _before_the_clock_was_set_back(now))


def _claimable(now: datetime) -> QuerySet[Run]:
    rested = Q(lease_until__isnull=True) | Q(lease_until__lte=now) | _before_the_clock_was_set_back(now)
    return Run.objects.filter((Q(state=Run.State.QUEUED) & rested) | abandoned(now))


def _before_the_clock_was_set_back(now: datetime) -> Q:
    return Q(lease_until__gt=now + _FAR_AHEAD)


def _take(run: Run, worker: str) -> Lease | None:
    """The conditional UPDATE that makes this worker the only holder."""
    now = timezone.now()
    events: list[Event] = [StateChanged(Run.State.RUNNING, versions=versions())]
    if run.state == Run.State.RUNNING:
        text = f"worker {run.worker} stopped answering; taken over, going on from the last checkpoint"
        events.insert(0, Log("warning", text))
    taken = write(
        _unchanged(run),
        run.pk,
        [event.entry for event in events],
        state=Run.State.RUNNING,
        lease_token=run.lease_token + 1,
        lease_until=now + LEASE_TIME,
        worker=worker[:200],
        attempts=F("attempts") + 1,
        started=Coalesce(F("started"), now),
    )
    if taken is None:
        return None
    return Lease(run.pk, run.lease_token + 1, worker, run.busy_seconds, kind=run.kind)


def _settle_abandoned(run: Run) -> bool:
    """Settle a run that has lost its holder and shall not be worked on again; whether that was so."""
    if run.state != Run.State.RUNNING:
        return False
    token = run.lease_token + 1
    if run.wanted and run.wanted != Run.Wanted.KEEP:
        state = _STATE_OF_WISH[Run.Wanted(run.wanted)]
        return _settle(_unchanged(run), run.pk, state, lease_token=token)
    if run.attempts < MAX_ATTEMPTS:
        return False
    error = exhausted(run.attempts, f"its worker {run.worker} stopped answering")
    return _settle(_unchanged(run), run.pk, Run.State.FAILED, error=error, lease_token=token)


def exhausted(attempts: int, last: str) -> str:
    """Why a run is given up that ended its process every time."""
    return (
        f"given up after {attempts} attempts without a new checkpoint: each time the process that did the "
        f"work died. The last time, {last}."
    )


def _unchanged(run: Run) -> QuerySet[Run]:
    """The run's row if nobody has claimed or settled it since it was read."""
    return Run.objects.filter(
        pk=run.pk, lease_token=run.lease_token, state=run.state, lease_until=run.lease_until
    )


def _settle(
    rows: QuerySet[Run], run_id: int, state: str, events: Sequence[Event] = (), **changes: Any
) -> bool:
    if state in Run.FINAL:
        changes["finished"] = timezone.now()
    error = next(iter(changes.get("error", "").splitlines()), "")
    entries = [event.entry for event in (*events, StateChanged(state, error))]
    settled = write(
        rows, run_id, entries, state=state, wanted=Run.Wanted.NOTHING, lease_until=None, **changes
    )
    return settled is not None


PATIENCE = 5.0
"""Seconds: twice what a living holder needs to renew its lease, once it can."""


class LeaseMonitor:
    """What one worker has seen of ended leases. It looks several times within `PATIENCE`, or sees nothing."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int, datetime | None], float] = {}
        self._looked = -float("inf")

    def begin(self) -> None:
        """Look, with the right to write. Whoever could not for so long knows nothing of the others."""
        now = time.monotonic()
        if now - self._looked > PATIENCE:
            self._since.clear()
        self._looked = now

    def is_gone(self, run: Run) -> bool:
        """Whether its holder has done nothing about the ended lease for long enough."""
        lease = (run.pk, run.lease_token, run.lease_until)
        return self._looked - self._since.setdefault(lease, self._looked) >= PATIENCE


LIBRARIES = ("numpy", "scipy", "numba", "z3-solver", "iced-x86")
"""Those whose version can change a result."""


@cache
def versions() -> dict[str, str]:
    """{name: version} of this program, Python and the libraries; those that are missing are left out."""
    found = {"pmweb": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
