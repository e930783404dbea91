"""Runs that are parts of another one: its process claims and supervises them, one after another.

They are runs like any other, with pages and results of their own. What is asked of the whole, to pause, to
cancel or to keep what there is, is asked of the part that is being worked on. When the whole is taken over,
it goes on with that part.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Callable

from django.db import transaction
from django.dispatch import receiver

from inference.core.errors import InterruptedRunError
from inference.core.events import Log
from inference.models import Run
from inference.runs import leases, lifecycle
from inference.runs.child import RunProcesses
from inference.runs.errors import RunStateError
from inference.runs.journal import Lease
from inference.runs.kinds import Task, keeps
from inference.runs.supervisor import RunSupervisor

_LOOK_EVERY = 0.3
_ASK_EVERY = 5.0
_WISHES = {"pause": lifecycle.pause, "cancel": lifecycle.cancel, "keep": lifecycle.keep}


@receiver(lifecycle.asked_of_run)
def pass_on(run: Run, wish: str, **_: object) -> None:
    """Ask the parts of a run what was asked of it, whoever works on them."""
    if wish not in _WISHES:
        return
    for part in run.parts.exclude(state__in=Run.FINAL):
        asked = _WISHES[wish] if wish != "keep" or _can_keep(part) else lifecycle.cancel
        with contextlib.suppress(RunStateError):  # it has ended in the meantime
            asked(part)


def _can_keep(part: Run) -> bool:
    return part.state == Run.State.RUNNING and bool(keeps(part))


class Parts:
    """Does parts of the task's run."""

    def __init__(self, task: Task, processes: RunProcesses) -> None:
        self._task = task
        self._processes = processes

    def do(self, part: Run | None, submitted: Callable[[], Run], seconds: float = math.inf) -> Run:
        """See a part to its end: this one, or else the one that `submitted` queues.

        After so many `seconds` of work it is asked to end with what it has, if it can. Raises whatever
        `submitted` does, and `InterruptedRunError`.
        """
        worker = self._task.run.worker or "a run"
        if part is None:
            with transaction.atomic():  # it is claimed in the transaction that makes it: no worker is faster
                part = submitted()
                lease = leases.claim(worker, only=part.pk)
        else:
            with contextlib.suppress(RunStateError):  # it is not paused
                lifecycle.resume(part)
            lease = leases.claim(worker, only=part.pk)
        while True:
            if lease is not None:
                self._supervise(lease, part, seconds)
            part.refresh_from_db()
            if part.state in Run.FINAL:
                return part
            self._task.reporter.pulse()
            time.sleep(_LOOK_EVERY)
            lease = leases.claim(worker, only=part.pk)  # somebody else had it, or it was paused and resumed

    def _supervise(self, lease: Lease, part: Run, seconds: float) -> None:
        """Work the part through a process of its own, beside which this one looks for wishes and the time."""
        ends = time.monotonic() + seconds - part.busy_seconds
        self._processes.start_server()
        supervised = _Supervised(lease, self._processes)
        supervised.start()
        is_told = False
        try:
            while supervised.is_alive():
                self._task.reporter.pulse()
                supervised.join(_LOOK_EVERY)
                if time.monotonic() > ends:
                    ends = math.inf if self._has_to_end(part) else time.monotonic() + _ASK_EVERY
        except InterruptedRunError as error:
            is_told = error.wanted in _WISHES
            if is_told:  # once more: the part may have been made after the whole was asked
                pass_on(self._task.run, error.wanted)
            raise
        finally:
            if not is_told:
                supervised.stop()
            supervised.join()

    def _has_to_end(self, part: Run) -> bool:
        """Ask the part to end with what it has; False where it cannot yet, or has nothing."""
        part.refresh_from_db()
        try:
            lifecycle.keep(part)
        except RunStateError:
            return False
        text = f"{part.name} is asked to end with what it has: its time is over"
        self._task.reporter.emit(Log("warning", text))
        return True


class _Supervised(threading.Thread):
    """A supervisor in a loop of its own."""

    def __init__(self, lease: Lease, processes: RunProcesses) -> None:
        super().__init__(name=f"run {lease.run_id}", daemon=True)
        self._lease = lease
        self._processes = processes
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """Until the part is settled, or put back into the queue."""
        with contextlib.closing(self._loop):
            supervisor = RunSupervisor(self._lease, self._stopping, self._processes)
            self._loop.run_until_complete(supervisor.run())

    def stop(self) -> None:
        """Let the part make way."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._stopping.set)
