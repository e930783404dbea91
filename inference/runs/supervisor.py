"""Keeps one run's child process: renews its lease, passes wishes on, and notices how it ended."""

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

LOOK_EVERY = 0.5
HEARTBEAT_EVERY = 2.0
_TAIL_LINES = 40
_SETTLED_GRACE = 5.0


@dataclass(frozen=True)
class _Patience:
    """Seconds until a child that does not obey gets SIGTERM, and from then until SIGKILL."""

    term: float
    kill: float


_PATIENCE = {
    "cancel": _Patience(0.0, 1.5),
    STOP: _Patience(0.0, 5.0),
    "pause": _Patience(10.0, 2.0),  # its checkpoint is worth waiting for
}


class RunSupervisor:
    """Works one claimed run through its child process. `stopping` is set when the worker shall end."""

    def __init__(self, lease: Lease, stopping: asyncio.Event, processes: RunProcesses) -> None:
        self._lease = lease
        self._processes = processes
        self._stopping = stopping
        self._wish = ""
        self._wished = 0.0
        self._sent: set[int] = set()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._heard = time.monotonic()

    async def run(self) -> None:
        """Returns when the run is settled or lost; its child process is gone then, whatever happened."""
        process = await self._processes.start(self._lease)
        reading = asyncio.create_task(self._read(process.output))
        try:
            await self._watch(process)
        except LeaseLostError:
            await self._let_go(process)
            return
        finally:
            process.send_signal(signal.SIGKILL)
            code = await process.wait()
            await asyncio.wait({reading}, timeout=1.0)
            reading.cancel()
        try:
            await database_sync_to_async(self._settle)(code)
        except OperationalError as error:  # the lease runs out, and somebody takes the run over
            logger.warning(
                "run %s is left as it is, the database does not answer: %s", self._lease.run_id, error
            )

    async def _let_go(self, process: RunChild) -> None:
        """The run is settled, usually by the process itself, which then ends in a moment; or it is taken."""
        try:
            taken = await database_sync_to_async(leases.is_taken_over)(self._lease)
        except OperationalError:  # for all one can know
            taken = True
        if taken:
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
                await asyncio.wait(waiting, timeout=LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    self._note(await self._look())
                    self._press(process)
        finally:
            ended.cancel()
            stopping.cancel()

    async def _look(self) -> str:
        """The current wish; renews the lease where that is due. Raises `LeaseLostError`."""
        now = time.monotonic()
        beat = now - self._heard >= HEARTBEAT_EVERY
        try:
            wish = await database_sync_to_async(leases.heartbeat if beat else leases.wanted)(self._lease)
        except OperationalError:
            # A database that is away for a moment costs nothing as long as the lease lasts.
            if now - self._heard > LEASE_TIME.total_seconds():
                raise LeaseLostError(self._lease.run_id, self._lease.token) from None
            logger.warning("run %s: the database does not answer", self._lease.run_id)
            return self._wish
        if beat:
            self._heard = now
        return STOP if self._stopping.is_set() and wish != "cancel" else wish

    def _note(self, wish: str) -> None:
        if wish != self._wish:
            self._wish, self._wished = wish, time.monotonic()

    def _press(self, process: RunChild) -> None:
        """SIGTERM, later SIGKILL, if the wish has been there for long enough."""
        patience = _PATIENCE.get(self._wish)
        if patience is None:
            return
        waited = time.monotonic() - self._wished
        if waited >= patience.term and signal.SIGTERM not in self._sent:
            self._sent.add(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
        if waited >= patience.term + patience.kill:
            process.send_signal(signal.SIGKILL)

    def _settle(self, code: int) -> None:
        """Settle the run if its process did not come to it."""
        try:
            if not leases.is_held(self._lease):
                if leases.is_taken_over(self._lease):  # its process noticed it first
                    logger.warning("run %s: lease lost, its process has ended", self._lease.run_id)
                return
            wish = leases.wanted(self._lease)
            if wish and wish != Run.Wanted.KEEP:
                leases.settle_as_wished(self._lease, wish)
            elif self._wish == STOP:
                leases.give_back(
                    self._lease, "the worker was stopped; waiting for one to go on", counts=False
                )
            else:
                self._settle_crash(code)
        except LeaseLostError:
            logger.warning("run %s: lease lost, another worker has it", self._lease.run_id)

    def _settle_crash(self, code: int) -> None:
        attempts = Run.objects.values_list("attempts", flat=True).get(pk=self._lease.run_id)
        how = describe_exit(code)
        if attempts >= leases.MAX_ATTEMPTS:
            evidence = "".join(self._tail) or "It printed nothing."
            leases.fail(self._lease, f"{leases.exhausted(attempts, f'it {how}')}\n\n{evidence}")
            return
        counted = f"attempt {attempts} of {leases.MAX_ATTEMPTS}"
        note = f"the process of this run {how} ({counted}); going on from the last checkpoint"
        leases.give_back(self._lease, note, counts=True, delay=timedelta(seconds=attempts))


def describe_exit(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    hint = ", perhaps because the computer ran out of memory" if -code == signal.SIGKILL else ""
    return f"was ended by signal {-code} ({name}){hint}"
