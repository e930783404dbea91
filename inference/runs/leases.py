"""A worker's operations on runs: claim, heartbeat, finish, fail, requeue.

All are conditional on the lease's token: an UPDATE that matches no row means that the lease is lost.
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
from inference.models import Machine, Run
from inference.runs import wakeups
from inference.runs.errors import LeaseLostError
from inference.runs.journal import LEASE_TIME, Lease, fenced_rows, lock_run, write
from inference.runs.kinds import machine_id_of

MAX_ATTEMPTS = 5
"""Consecutive claims without a checkpoint or new measurements, after which a run fails: it kills its process.
"""

STOPPED = "stopped_early"
"""Key of the result of a run that was stopped before its end, with a partial result."""

_CANDIDATES = 20

_MAX_LEASE = 3 * LEASE_TIME
"""A lease that ends later than this was written before the clock was set back."""


def claim(
    worker: str,
    only: int | None = None,
    kinds: Collection[str] | None = None,
    excluded: Collection[int] = (),
    monitor: LeaseMonitor | None = None,
) -> Lease | None:
    """Claim the oldest run that waits or whose holder is dead.

    Runs that are not to be continued (their holder died after a requested pause or cancel, or they had too
    many attempts) are settled on the way.

    Args:
        worker: Name of the claiming worker.
        only: Id of the only run to consider.
        kinds: Kinds of runs to consider; None: all.
        excluded: Ids of waiting runs to skip.
        monitor: Must confirm that the holder of an expired lease is dead; None: an expired lease suffices.

    Returns:
        The lease; None if no run can be claimed.
    """
    rows = _claimable(timezone.now())
    if only is not None:
        rows = rows.filter(pk=only)
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    if excluded:
        rows = rows.exclude(pk__in=excluded, state=Run.State.QUEUED)
    if not rows.exists():  # outside the transaction, which would take SQLite's only write lock
        return None
    with transaction.atomic():
        if monitor is not None:
            monitor.start_check()
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, no_key=True)
        for _ in range(_CANDIDATES):
            # One at a time: a row that is read is locked, and other workers must be able to claim the next
            # ones.
            run = rows.order_by("id").first()
            if run is None:
                return None
            if monitor is not None and run.state == Run.State.RUNNING and not monitor.has_dead_holder(run):
                rows = rows.exclude(pk=run.pk)
            elif not _settle_abandoned(run):
                return _claim_row(run, worker)
    return None


def has_claimable_run(kinds: Collection[str]) -> bool:
    """Whether a run of these kinds waits or has lost its holder; one cheap query for an idle worker."""
    return _claimable(timezone.now()).filter(kind__in=kinds).exists()


def heartbeat(lease: Lease) -> str:
    """Renew the lease; returns `requested_transition`. Raises `LeaseLostError`."""
    renewed = fenced_rows(lease).update(
        lease_until=timezone.now() + LEASE_TIME, busy_seconds=lease.busy_seconds()
    )
    if not renewed:
        raise LeaseLostError(lease.run_id, lease.token)
    return requested_transition(lease)


def requested_transition(lease: Lease) -> str:
    """What the run's user requests: "" (nothing), "pause", "cancel" or "keep". Raises `LeaseLostError`."""
    transition = fenced_rows(lease).values_list("wanted", flat=True).first()
    if transition is None:
        raise LeaseLostError(lease.run_id, lease.token)
    return transition


def busy_seconds(run: Run) -> float:
    """Seconds of work on a run so far, including those since its holder's last write.

    Of a holder's silence at most the time of a lease counts.
    """
    if run.state != Run.State.RUNNING or run.lease_until is None:
        return run.busy_seconds
    silent = timezone.now() - (run.lease_until - LEASE_TIME)
    return run.busy_seconds + min(max(silent, timedelta(0)), LEASE_TIME).total_seconds()


def is_valid(lease: Lease) -> bool:
    """False if the run was settled, deleted or claimed by another worker."""
    return fenced_rows(lease).exists()


def is_superseded(lease: Lease) -> bool:
    """Whether another worker has claimed the run since, or the run was deleted."""
    return not Run.objects.filter(pk=lease.run_id, lease_token=lease.token).exists()


def finish(lease: Lease, store: Callable[[], tuple[Json, Sequence[Event]]]) -> None:
    """Store a run's results and mark it done, in one transaction: exactly once or not at all.

    Args:
        lease: The caller's lease.
        store: Writes the rows; returns the run's result and its last events.

    The result of a run that was stopped early is marked with `STOPPED`.

    Raises:
        LeaseLostError: Another worker has claimed the run; nothing was stored.
    """
    is_stopped = requested_transition(lease) == Run.Transition.KEEP
    with transaction.atomic():
        if not fenced_rows(lease).update(lease_until=timezone.now() + LEASE_TIME):
            raise LeaseLostError(lease.run_id, lease.token)
        result, events = store()
        if is_stopped:
            result = {**result, STOPPED: True}
        settle(lease, Run.State.DONE, events, result=result)


def fail(lease: Lease, error: str, events: Sequence[Event] = ()) -> None:
    """End a run as failed; the first line of `error` is the reason, the rest its evidence.

    Evidence may be the output of a dying process: characters that no database stores are replaced.
    """
    storable = error.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    settle(lease, Run.State.FAILED, events, error=storable)


def settle(lease: Lease, state: str, events: Sequence[Event] = (), **changes: Any) -> None:
    """End the lease and set the run's state. Raises `LeaseLostError`."""
    busy = lease.busy_seconds()
    if not _settle(fenced_rows(lease), lease.run_id, state, events, busy_seconds=busy, **changes):
        raise LeaseLostError(lease.run_id, lease.token)


def requeue(lease: Lease, note: str, *, is_attempt: bool, delay: timedelta = timedelta(0)) -> None:
    """Put a run back into the queue with its checkpoint.

    A pause or cancel that was requested in the meantime is carried out instead. A requested "keep" stays for
    the next attempt.

    Args:
        lease: The caller's lease.
        note: Sentence for the run's log.
        is_attempt: True if the process died, which counts towards `MAX_ATTEMPTS`; False if the worker
            stopped.
        delay: Time before which the run must not be claimed.

    Raises:
        LeaseLostError: Another worker has claimed the run.
    """
    log = Log("warning" if is_attempt else "info", note)
    with transaction.atomic():
        lock_run(lease.run_id)
        first_event = write(
            fenced_rows(lease).filter(wanted__in=(Run.Transition.NOTHING, Run.Transition.KEEP)),
            lease.run_id,
            [log.entry, StateChanged(Run.State.QUEUED).entry],
            state=Run.State.QUEUED,
            lease_until=timezone.now() + delay,
            busy_seconds=lease.busy_seconds(),
            attempts=F("attempts") if is_attempt else F("attempts") - 1,
        )
        if first_event is None:
            settle(lease, _STATE_AFTER[Run.Transition(requested_transition(lease))], [log])
        else:
            wakeups.announce(wakeups.WORK)


_STATE_AFTER = {
    Run.Transition.PAUSE: Run.State.PAUSED,
    Run.Transition.CANCEL: Run.State.CANCELLED,
    Run.Transition.KEEP: Run.State.CANCELLED,  # the run had no partial result yet
}


def settle_transition(lease: Lease, transition: str) -> None:
    """End the work on a run by its user's request: "pause", "cancel" or "keep". Raises `LeaseLostError`."""
    settle(lease, _STATE_AFTER[Run.Transition(transition)])


def abandoned(now: datetime) -> Q:
    """Condition for runs whose holder has been silent for longer than its lease."""
    return Q(state=Run.State.RUNNING) & (Q(lease_until__lt=now) | _before_the_clock_was_set_back(now))


def _claimable(now: datetime) -> QuerySet[Run]:
    is_due = Q(lease_until__isnull=True) | Q(lease_until__lte=now) | _before_the_clock_was_set_back(now)
    return Run.objects.filter((Q(state=Run.State.QUEUED) & is_due) | abandoned(now))


def _before_the_clock_was_set_back(now: datetime) -> Q:
    return Q(lease_until__gt=now + _MAX_LEASE)


def _claim_row(run: Run, worker: str) -> Lease | None:
    """Make this worker the run's holder by a conditional UPDATE; None if another worker was faster."""
    now = timezone.now()
    events: list[Event] = [StateChanged(Run.State.RUNNING, versions=_versions_for(run))]
    if run.state == Run.State.RUNNING:
        text = f"worker {run.worker} stopped answering; taken over, going on from the last checkpoint"
        events.insert(0, Log("warning", text))
    first_event = write(
        _unchanged_row(run),
        run.pk,
        [event.entry for event in events],
        state=Run.State.RUNNING,
        lease_token=run.lease_token + 1,
        lease_until=now + LEASE_TIME,
        worker=worker[:200],
        attempts=F("attempts") + 1,
        started=Coalesce(F("started"), now),
    )
    if first_event is None:
        return None
    return Lease(run.pk, run.lease_token + 1, worker, run.busy_seconds, kind=run.kind)


def _settle_abandoned(run: Run) -> bool:
    """Settle a run that lost its holder and must not be continued; False for other runs."""
    if run.state != Run.State.RUNNING:
        return False
    token = run.lease_token + 1
    if run.wanted and run.wanted != Run.Transition.KEEP:
        state = _STATE_AFTER[Run.Transition(run.wanted)]
        return _settle(_unchanged_row(run), run.pk, state, lease_token=token)
    if run.attempts < MAX_ATTEMPTS:
        return False
    error = attempts_exhausted_text(run.attempts, f"its worker {run.worker} stopped answering")
    return _settle(_unchanged_row(run), run.pk, Run.State.FAILED, error=error, lease_token=token)


def attempts_exhausted_text(attempts: int, last_failure: str) -> str:
    """The error of a run whose process died in every attempt; `last_failure` is a clause."""
    return (
        f"given up after {attempts} attempts without a new checkpoint: each time the process that did the "
        f"work died. The last time, {last_failure}."
    )


def _unchanged_row(run: Run) -> QuerySet[Run]:
    """The run's row, if it was neither claimed nor settled since `run` was read."""
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
    first_event = write(
        rows, run_id, entries, state=state, wanted=Run.Transition.NOTHING, lease_until=None, **changes
    )
    return first_event is not None


GRACE_PERIOD = 5.0
"""Seconds: twice what a living holder needs to renew its lease, once it can."""


class LeaseMonitor:
    """One worker's observations of expired leases, by the monotonic clock: the wall clock may be set.

    Observations count only if the worker checked at least every `GRACE_PERIOD` seconds.
    """

    def __init__(self) -> None:
        self._ended_since: dict[tuple[int, int, datetime | None], float] = {}
        self._last_check = -float("inf")

    def start_check(self) -> None:
        """Begin a check, inside a transaction that may write; after a longer gap all observations are
        dropped."""
        now = time.monotonic()
        if now - self._last_check > GRACE_PERIOD:
            self._ended_since.clear()
        self._last_check = now

    def has_dead_holder(self, run: Run) -> bool:
        """Whether the run's lease has been observed as expired and unchanged for `GRACE_PERIOD` seconds."""
        lease_key = (run.pk, run.lease_token, run.lease_until)
        return self._last_check - self._ended_since.setdefault(lease_key, self._last_check) >= GRACE_PERIOD


def _versions_for(run: Run) -> dict[str, str]:
    """The versions, and the microcode of the machine on which the run measures, where that is reported."""
    machine = Machine.objects.filter(pk=machine_id_of(run.config) or 0)
    microcode = next(iter(machine.values_list("facts__microcode", flat=True)), None)
    return {**versions(), MICROCODE: microcode} if microcode else versions()


MICROCODE = "microcode"
"""Key of a processor's microcode among a machine's facts, and among the versions in a journal."""

LIBRARIES = ("numpy", "scipy", "numba", "z3-solver", "iced-x86")
"""Libraries whose version can change a result."""


@cache
def versions() -> dict[str, str]:
    """{name: version} of this program, Python and `LIBRARIES`, without libraries that are not installed."""
    by_name = {"pmweb": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return by_name
