"""Does one claimed run in this process, and sees to it that it ends in a state that says how it went."""

from __future__ import annotations

import logging
import signal
import time
import traceback

from django.db import OperationalError

from inference.core import checkpoint as checkpoints
from inference.core.errors import CoreError, InterruptedRunError
from inference.core.protocols import Checkpoint
from inference.formats.problems import ExchangeError
from inference.models import Run, RunCheckpoint
from inference.runs import leases
from inference.runs.errors import LeaseLostError, RunsError
from inference.runs.journal import Lease
from inference.runs.kinds import Task, job
from inference.runs.reporter import JournalReporter

logger = logging.getLogger(__name__)

STOP = "stop"
"""The wish of a worker that shuts down: checkpoint, then back into the queue."""

_LOOK_EVERY = 0.5


class StopRequests:
    """What a run shall do instead of going on; asks the database at most twice a second."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._stopping = False
        self._next = 0.0

    def stop(self) -> None:
        """Ask the run to make way; safe to call from a signal handler."""
        self._stopping = True

    def __call__(self) -> str:
        """ "pause", "cancel", "keep", "stop", or "" to go on. Raises `LeaseLostError`."""
        now = time.monotonic()
        if now < self._next and not self._stopping:
            return ""
        self._next = now + _LOOK_EVERY
        return leases.wanted(self._lease) or (STOP if self._stopping else "")


def execute_claimed(lease: Lease) -> int:
    """Do a run as the whole of this process; its exit status, 0 wherever the run was left in a settled state.

    SIGTERM asks the run to make way. Raises `OperationalError`.
    """
    wishes = StopRequests(lease)
    signal.signal(signal.SIGTERM, lambda _number, _frame: wishes.stop())
    try:
        execute(lease, wishes)
    except LeaseLostError as error:
        logger.warning("%s", error)
        return 1
    return 0


def execute(lease: Lease, wishes: StopRequests) -> None:
    """Do the run until it is done, has failed or was interrupted.

    Raises `LeaseLostError` when somebody else took it over, and `OperationalError` when the database is out
    of reach: then nothing can be written, and the run goes on from its checkpoint in another attempt.
    """
    run = Run.objects.get(pk=lease.run_id)
    reporter = JournalReporter(lease, wishes)
    try:
        store = job(run.kind).work(Task(run, lease, reporter, _checkpoint(run)))
        reporter.flush()
        leases.finish(lease, store)
    except InterruptedRunError as interruption:
        reporter.flush()
        _stop(lease, interruption.wanted)
    except (LeaseLostError, OperationalError):
        raise
    except (CoreError, ExchangeError, RunsError) as error:
        reporter.flush()
        leases.fail(lease, str(error))
    except Exception as error:  # the one place where whatever went wrong becomes a failed run
        logger.exception("run %s failed", lease.run_id)
        leases.fail(lease, _evidence(error))


def _checkpoint(run: Run) -> Checkpoint | None:
    data = RunCheckpoint.objects.filter(run=run).values_list("data", flat=True).first()
    return None if data is None else checkpoints.decode(bytes(data))


def _stop(lease: Lease, wish: str) -> None:
    if wish == STOP:
        leases.give_back(lease, "the worker was stopped; waiting for one to go on", counts=False)
    else:
        leases.settle_as_wished(lease, wish)


def _evidence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        cause = "out of memory: the run needed more than its limit (PMWEB_RUN_MEMORY_MB)"
    else:
        cause = f"{type(error).__name__}: {error}"
    return f"{cause}\n\n{''.join(traceback.format_exception(error))}"
