"""Parts of a run: runs that the process of their parent run claims and supervises, one after another.

Parts are ordinary runs with pages and results. A pause, cancel or keep of the parent is forwarded to the
current part. A resumed parent goes on with that part.
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
from inference.runs.kinds import Task, partial_result
from inference.runs.supervisor import RunSupervisor

_POLL_INTERVAL = 0.3  # seconds between looks at the state of a part
_RETRY_INTERVAL = 5.0  # seconds before a part is asked to end again
_TRANSITIONS = {"pause": lifecycle.pause, "cancel": lifecycle.cancel, "keep": lifecycle.keep}


@receiver(lifecycle.transition_requested)
def forward_transition(run: Run, wish: str, **_: object) -> None:
    """Request the same transition of a run's unfinished parts."""
    if wish not in _TRANSITIONS:
        return
    for part in run.parts.exclude(state__in=Run.FINAL):
        request = _TRANSITIONS[wish] if wish != "keep" or _has_partial_result(part) else lifecycle.cancel
        with contextlib.suppress(RunStateError):  # it has ended in the meantime
            request(part)


def _has_partial_result(part: Run) -> bool:
    return part.state == Run.State.RUNNING and bool(partial_result(part))


class Parts:
    def __init__(self, task: Task, processes: RunProcesses) -> None:
        self._task = task
        self._processes = processes

    def execute(self, part: Run | None, submit: Callable[[], Run], seconds: float = math.inf) -> Run:
        """Execute a part to its end, and return it.

        Args:
            part: A part of an earlier attempt; None to create one.
            submit: Queues a new part; its errors are passed on.
            seconds: Time of work after which the part is requested to end with its partial result.

        Raises:
            InterruptedRunError: A transition of the parent was requested.
        """
        worker = self._task.run.worker or "a run"
        if part is None:
            with transaction.atomic():  # claimed in the transaction that creates it: no worker is faster
                part = submit()
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
            time.sleep(_POLL_INTERVAL)
            lease = leases.claim(worker, only=part.pk)  # a worker had it, or it was paused and resumed

    def _supervise(self, lease: Lease, part: Run, seconds: float) -> None:
        """Execute the part in a process of its own; this one polls for transitions and the deadline."""
        deadline = time.monotonic() + seconds - part.busy_seconds
        self._processes.start_server()
        thread = _SupervisorThread(lease, self._processes)
        thread.start()
        is_forwarded = False
        try:
            while thread.is_alive():
                self._task.reporter.pulse()
                thread.join(_POLL_INTERVAL)
                if time.monotonic() > deadline:
                    deadline = math.inf if self._request_end(part) else time.monotonic() + _RETRY_INTERVAL
        except InterruptedRunError as error:
            is_forwarded = error.request in _TRANSITIONS
            if is_forwarded:  # once more: the part may have been made after the whole was asked
                forward_transition(self._task.run, error.request)
            raise
        finally:
            if not is_forwarded:
                thread.stop()
            thread.join()

    def _request_end(self, part: Run) -> bool:
        """Request the part's partial result; False if it has none yet."""
        part.refresh_from_db()
        try:
            lifecycle.keep(part)
        except RunStateError:
            return False
        text = f"{part.name} has reached its time limit and ends with its partial result"
        self._task.reporter.emit(Log("warning", text))
        return True


class _SupervisorThread(threading.Thread):
    def __init__(self, lease: Lease, processes: RunProcesses) -> None:
        super().__init__(name=f"run {lease.run_id}", daemon=True)
        self._lease = lease
        self._processes = processes
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """Supervise until the part is settled or requeued."""
        with contextlib.closing(self._loop):
            supervisor = RunSupervisor(self._lease, self._stopping, self._processes)
            self._loop.run_until_complete(supervisor.run())

    def stop(self) -> None:
        """Request `STOP` of the part: checkpoint and requeue."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._stopping.set)
