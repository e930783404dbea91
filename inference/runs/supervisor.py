"""Supervision of one run's process: renewing the lease, enforcing transitions, recording how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections import deque
from dataclasses import dataclass
from datetime import timedelta

from channels.db import database_sync_to_async
from django.db import OperationalError

from inference.models import Run
from inference.runs import leases
from inference.runs.child import RunChild, RunProcesses
from inference.runs.errors import LeaseLostError
from inference.runs.fork_server import STOP
from inference.runs.journal import LEASE_TIME, Lease

logger = logging.getLogger(__name__)

POLL_INTERVAL = 0.5  # seconds between looks at the run's row, should a wake-up be lost
HEARTBEAT_INTERVAL = 2.0  # seconds; a lease lasts several of them
_TAIL_LINES = 40  # of a process's last output, for the error of a run that died
_SETTLED_GRACE = 5.0  # seconds that a process may take to exit once its run has ended


@dataclass(frozen=True)
class _GracePeriod:
    """Seconds from a requested transition to SIGTERM, and from then to SIGKILL."""

    term: float
    kill: float


_GRACE_PERIODS = {
    "cancel": _GracePeriod(0.0, 1.5),
    STOP: _GracePeriod(0.0, 5.0),
    "pause": _GracePeriod(10.0, 2.0),  # its checkpoint is worth waiting for
}


class RunSupervisor:
    """Supervises the process of one claimed run. `stopping` is set when the worker shall end."""

    def __init__(self, lease: Lease, stopping: asyncio.Event, processes: RunProcesses) -> None:
        self._lease = lease
        self._processes = processes
        self._stopping = stopping
        self._transition = ""
        self._transition_since = 0.0
        self._sent_signals: set[int] = set()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._last_heartbeat = time.monotonic()

    async def run(self) -> None:
        """Start the process and return when the run is settled or lost; the process has ended then."""
        process = await self._processes.start(self._lease)
        reader = asyncio.create_task(self._read(process.output))
        try:
            await self._watch(process)
        except LeaseLostError:
            await self._release(process)
            return
        finally:
            process.send_signal(signal.SIGKILL)
            code = await process.wait()
            await asyncio.wait({reader}, timeout=1.0)
            reader.cancel()
        try:
            await database_sync_to_async(self._settle)(code)
        except OperationalError as error:  # the lease expires, and another worker claims the run
            logger.warning(
                "run %s is not settled, the database does not answer: %s", self._lease.run_id, error
            )

    async def _release(self, process: RunChild) -> None:
        """After a lost lease: wait for the process if it has settled the run itself."""
        try:
            is_superseded = await database_sync_to_async(leases.is_superseded)(self._lease)
        except OperationalError:  # assume the worst
            is_superseded = True
        if is_superseded:
            logger.warning("run %s: lease lost, its process is stopped", self._lease.run_id)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _SETTLED_GRACE)

    async def _read(self, output: asyncio.StreamReader) -> None:
        async for line in output:
            text = line.decode(errors="replace")
            self._tail.append(text)
            sys.stderr.write(text)

    async def _watch(self, process: RunChild) -> None:
        ended = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not ended.done():
                waiting = {ended} if stopping.done() else {ended, stopping}
                await asyncio.wait(waiting, timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    self._record_transition(await self._poll())
                    self._enforce_transition(process)
        finally:
            ended.cancel()
            stopping.cancel()

    async def _poll(self) -> str:
        """The requested transition; renews the lease if that is due. Raises `LeaseLostError`."""
        now = time.monotonic()
        is_due = now - self._last_heartbeat >= HEARTBEAT_INTERVAL
        try:
            transition = await database_sync_to_async(
                leases.heartbeat if is_due else leases.requested_transition
            )(self._lease)
        except OperationalError:
            # A short outage of the database does no harm while the lease is valid.
            if now - self._last_heartbeat > LEASE_TIME.total_seconds():
                raise LeaseLostError(self._lease.run_id, self._lease.token) from None
            logger.warning("run %s: the database does not answer", self._lease.run_id)
            return self._transition
        if is_due:
            self._last_heartbeat = now
        return STOP if self._stopping.is_set() and transition != "cancel" else transition

    def _record_transition(self, transition: str) -> None:
        if transition != self._transition:
            self._transition, self._transition_since = transition, time.monotonic()

    def _enforce_transition(self, process: RunChild) -> None:
        """Send SIGTERM, later SIGKILL, if a transition has been requested for too long."""
        grace = _GRACE_PERIODS.get(self._transition)
        if grace is None:
            return
        waited = time.monotonic() - self._transition_since
        if waited >= grace.term and signal.SIGTERM not in self._sent_signals:
            self._sent_signals.add(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
        if waited >= grace.term + grace.kill:
            process.send_signal(signal.SIGKILL)

    def _settle(self, code: int) -> None:
        """Settle the run if its process has not done so."""
        try:
            if not leases.is_valid(self._lease):
                if leases.is_superseded(self._lease):  # its process noticed it first
                    logger.warning("run %s: lease lost, its process has ended", self._lease.run_id)
                return
            transition = leases.requested_transition(self._lease)
            if transition and transition != Run.Transition.KEEP:
                leases.settle_transition(self._lease, transition)
            elif self._transition == STOP:
                leases.requeue(
                    self._lease, "the worker was stopped; waiting for another one", is_attempt=False
                )
            else:
                self._settle_crash(code)
        except LeaseLostError:
            logger.warning("run %s: lease lost, another worker has it", self._lease.run_id)

    def _settle_crash(self, code: int) -> None:
        attempts = Run.objects.values_list("attempts", flat=True).get(pk=self._lease.run_id)
        exit_text = describe_exit(code)
        if attempts >= leases.MAX_ATTEMPTS:
            evidence = "".join(self._tail) or "It printed nothing."
            leases.fail(
                self._lease, f"{leases.attempts_exhausted_text(attempts, f'it {exit_text}')}\n\n{evidence}"
            )
            return
        counted = f"attempt {attempts} of {leases.MAX_ATTEMPTS}"
        note = f"the process of this run {exit_text} ({counted}); going on from the last checkpoint"
        leases.requeue(self._lease, note, is_attempt=True, delay=timedelta(seconds=attempts))


def describe_exit(code: int) -> str:
    """How a process ended, as a predicate.

    >>> describe_exit(1)
    'ended with exit code 1'
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    hint = ", perhaps because the computer ran out of memory" if -code == signal.SIGKILL else ""
    return f"was ended by signal {-code} ({name}){hint}"
