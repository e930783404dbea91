"""A fork server: it has imported what runs need, and forks a process for each in a few milliseconds.

A process that starts from nothing spends two seconds on imports, four where it needs compiled loops. The
server is one itself (`manage.py fork-server`), without threads and without a connection to the database:
neither survives a fork.

Whoever supervises a run sends a request over the server's socket, with two descriptors: a connection for this
run alone, and where its output goes. Over the connection go signals for the process, a byte each, and back
comes its exit status, a line, once it has ended. Where the connection is closed, the process is killed.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from typing import NoReturn

from django.conf import settings
from django.db import OperationalError

from inference.agent.priority import set_session_niceness
from inference.core import checkpoint as checkpoints
from inference.core.errors import CoreError, InterruptedRunError
from inference.core.protocols import Checkpoint
from inference.formats.errors import ExchangeError
from inference.models import Run, RunCheckpoint
from inference.predictors.protocol import PredictorError
from inference.runs import leases
from inference.runs.child import limit_memory
from inference.runs.errors import LeaseLostError, RunsError
from inference.runs.journal import Lease
from inference.runs.kinds import RUN_KINDS, Task, job
from inference.runs.lifeline import call_process, end_with
from inference.runs.reporter import JournalReporter

logger = logging.getLogger(__name__)

_LARGEST_REQUEST = 4096


class RunForkServer:
    """Forks the processes of runs until nobody is left who could ask for one."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._supervisors: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._loaded: set[str] = set()
        self._woken, self._waking = os.pipe()

    def serve(self) -> None:
        """Serve. Signals that ask programs to end are for the supervisor, which needs its runs until then."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._selector.register(self._requests, selectors.EVENT_READ, self._take_request)
        os.set_blocking(self._waking, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._selector.register(self._woken, selectors.EVENT_READ, self._reap)
        while self._requests.fileno() >= 0:
            for key, _ in self._selector.select():
                key.data()

    def _take_request(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(
            self._requests, _LARGEST_REQUEST, 2, socket.MSG_CMSG_CLOEXEC
        )
        if not message:
            self._requests.close()
            return
        lease = Lease.from_text(message.decode())
        connection, output = descriptors
        supervisor = socket.socket(fileno=connection)
        self._load(lease.kind)
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            supervisor.close()
            self._become_run(lease, output, server)
        os.close(output)
        self._supervisors[pid] = supervisor
        self._selector.register(supervisor, selectors.EVENT_READ, lambda: self._obey(pid))

    def _load(self, kind: str) -> None:
        if kind in self._loaded or kind not in RUN_KINDS:
            return
        self._loaded.add(kind)
        try:
            RUN_KINDS[kind].job()
            RUN_KINDS[kind].load()
        except Exception:  # the process of the run meets it again, and tells its user
            logger.exception("what runs of kind %r need cannot be loaded", kind)
        gc.collect()
        gc.freeze()  # a collection in a child would write to every object, and so copy the memory of all

    def _become_run(self, lease: Lease, output: int, server: int) -> NoReturn:
        """What remains of this process does the run and ends."""
        status = 1
        try:
            self._leave_server(output)
            if end_with(server):
                set_session_niceness(settings.RUN_NICENESS)
                limit_memory(settings.RUN_MEMORY_LIMIT_BYTES)
                call_process(f"run {lease.run_id}")
                status = execute_claimed(lease)
        except:  # noqa: E722  whatever it was, this process must not go on as a second server
            traceback.print_exc()
        finally:
            logging.shutdown()
            sys.stdout.flush()
            os._exit(status)

    def _leave_server(self, output: int) -> None:
        """Have a session and an output of its own, and nothing that belongs to the server."""
        os.setsid()
        os.dup2(output, sys.stdout.fileno())
        os.dup2(output, sys.stderr.fileno())
        os.close(output)
        self._selector.close()
        for connection in (self._requests, *self._supervisors.values()):
            connection.close()
        signal.set_wakeup_fd(-1)
        os.close(self._woken)
        os.close(self._waking)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _obey(self, pid: int) -> None:
        """Signal a process as its supervisor says; kill it where the supervisor is gone."""
        supervisor = self._supervisors.get(pid)
        if supervisor is None:  # it has just ended
            return
        try:
            numbers = supervisor.recv(64)
        except ConnectionResetError:
            numbers = b""
        if not numbers:
            self._selector.unregister(supervisor)
            _kill(pid)
        for number in numbers:
            if number == signal.SIGKILL:
                _kill(pid)
            else:
                os.kill(pid, number)

    def _reap(self) -> None:
        os.read(self._woken, 512)
        while self._supervisors:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # whatever it started and left
            supervisor = self._supervisors.pop(pid)
            if supervisor in self._selector.get_map():
                self._selector.unregister(supervisor)
            with supervisor, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                supervisor.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _kill(pid: int) -> None:
    """A process that was forked here and has not been waited for, with whatever it has started."""
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it did not come to have a group of its own
        os.killpg(pid, signal.SIGKILL)


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
    except (CoreError, ExchangeError, PredictorError, RunsError) as error:
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
