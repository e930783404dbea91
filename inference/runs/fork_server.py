"""The fork server: it has imported the modules that runs need, and forks a process in a few milliseconds.

A new interpreter spends two seconds on imports, four with compiled loops. The server is a process
(`manage.py fork-server`) without threads and without a database connection: neither survives a fork.

A supervisor sends a request over the server's socket, with two descriptors: a connection for this run, and a
pipe for its output. Over the connection the supervisor sends signals, one byte each, and the server answers
with the exit status as a line once the process has ended. When the connection closes, the server kills the
process.
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
from inference.formats.problems import ExchangeError
from inference.models import Run, RunCheckpoint
from inference.predictors.protocol import PredictorError
from inference.runs import leases
from inference.runs.child import limit_memory
from inference.runs.errors import LeaseLostError, RunsError
from inference.runs.journal import Lease
from inference.runs.kinds import RUN_KINDS, Task, job
from inference.runs.lifeline import set_parent_death_signal, set_process_name
from inference.runs.reporter import JournalReporter

logger = logging.getLogger(__name__)

_MAX_REQUEST_BYTES = 4096  # of a message that asks for a process


class RunForkServer:
    """Forks processes of runs until the socket of requests is closed."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._supervisors: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._loaded_kinds: set[str] = set()
        self._wakeup_read, self._wakeup_write = os.pipe()

    def serve(self) -> None:
        """Answer requests. SIGINT and SIGTERM are ignored: the supervisor handles them and needs its runs."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._selector.register(self._requests, selectors.EVENT_READ, self._take_request)
        os.set_blocking(self._wakeup_write, False)
        signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._selector.register(self._wakeup_read, selectors.EVENT_READ, self._reap)
        while self._requests.fileno() >= 0:
            for key, _ in self._selector.select():
                key.data()

    def _take_request(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(
            self._requests, _MAX_REQUEST_BYTES, 2, socket.MSG_CMSG_CLOEXEC
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
        self._selector.register(supervisor, selectors.EVENT_READ, lambda: self._forward_signals(pid))

    def _load(self, kind: str) -> None:
        if kind in self._loaded_kinds or kind not in RUN_KINDS:
            return
        self._loaded_kinds.add(kind)
        try:
            RUN_KINDS[kind].job()
            RUN_KINDS[kind].load()
        except Exception:  # the process of the run meets it again, and tells its user
            logger.exception("what runs of kind %r need cannot be loaded", kind)
        gc.collect()
        gc.freeze()  # a collection in a child would write to every object, and so copy the memory of all

    def _become_run(self, lease: Lease, output: int, server: int) -> NoReturn:
        """Turn the forked process into the run's; it ends with the run."""
        status = 1
        try:
            self._detach_from_server(output)
            if set_parent_death_signal(server):
                set_session_niceness(settings.RUN_NICENESS)
                limit_memory(settings.RUN_MEMORY_LIMIT_BYTES)
                set_process_name(f"run {lease.run_id}")
                status = execute_claimed(lease)
        except:  # noqa: E722  whatever it was, this process must not go on as a second server
            traceback.print_exc()
        finally:
            logging.shutdown()
            sys.stdout.flush()
            os._exit(status)

    def _detach_from_server(self, output: int) -> None:
        """Start a session, redirect the output, and close the server's descriptors and handlers."""
        os.setsid()
        os.dup2(output, sys.stdout.fileno())
        os.dup2(output, sys.stderr.fileno())
        os.close(output)
        self._selector.close()
        for connection in (self._requests, *self._supervisors.values()):
            connection.close()
        signal.set_wakeup_fd(-1)
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _forward_signals(self, pid: int) -> None:
        """Forward signals from a supervisor; a closed connection kills the process."""
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
        os.read(self._wakeup_read, 512)
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
    """Kill a forked process that has not been waited for, and its process group."""
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it did not come to have a group of its own
        os.killpg(pid, signal.SIGKILL)


STOP = "stop"
"""Requested by a worker that shuts down: save a checkpoint and requeue the run."""

_POLL_INTERVAL = 0.5  # seconds


class StopRequests:
    """The transition that is requested of a run; queries the database at most twice a second."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._stopping = False
        self._next_poll = 0.0

    def stop(self) -> None:
        """Request `STOP`; safe to call from a signal handler."""
        self._stopping = True

    def __call__(self) -> str:
        """ "pause", "cancel", "keep", "stop", or "" to go on. Raises `LeaseLostError`."""
        now = time.monotonic()
        if now < self._next_poll and not self._stopping:
            return ""
        self._next_poll = now + _POLL_INTERVAL
        return leases.requested_transition(self._lease) or (STOP if self._stopping else "")


def execute_claimed(lease: Lease) -> int:
    """Execute a claimed run in this process; SIGTERM requests `STOP`.

    Returns:
        The exit status: 0, or 1 where the lease was lost.

    Raises:
        OperationalError: The database does not answer.
    """
    stop_requests = StopRequests(lease)
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop_requests.stop())
    try:
        execute(lease, stop_requests)
    except LeaseLostError as error:
        logger.warning("%s", error)
        return 1
    return 0


def execute(lease: Lease, stop_requests: StopRequests) -> None:
    """Execute the run and record its final state: done, failed or interrupted.

    Raises:
        LeaseLostError: Another worker has claimed the run.
        OperationalError: The database does not answer. The run resumes from its checkpoint in another
            attempt.
    """
    run = Run.objects.get(pk=lease.run_id)
    reporter = JournalReporter(lease, stop_requests)
    try:
        store = job(run.kind).work(Task(run, lease, reporter, _checkpoint(run)))
        reporter.flush()
        leases.finish(lease, store)
    except InterruptedRunError as interruption:
        reporter.flush()
        _stop(lease, interruption.request)
    except (LeaseLostError, OperationalError):
        raise
    except (CoreError, ExchangeError, PredictorError, RunsError) as error:
        reporter.flush()
        leases.fail(lease, str(error))
    except Exception as error:  # the only place that turns an unexpected error into a failed run
        logger.exception("run %s failed", lease.run_id)
        leases.fail(lease, _failure_text(error))


def _checkpoint(run: Run) -> Checkpoint | None:
    data = RunCheckpoint.objects.filter(run=run).values_list("data", flat=True).first()
    return None if data is None else checkpoints.decode(bytes(data))


def _stop(lease: Lease, transition: str) -> None:
    if transition == STOP:
        leases.requeue(lease, "the worker was stopped; waiting for another one", is_attempt=False)
    else:
        leases.settle_transition(lease, transition)


def _failure_text(error: Exception) -> str:
    if isinstance(error, MemoryError):
        cause = "out of memory: the run needed more than its limit (PMWEB_RUN_MEMORY_MB)"
    else:
        cause = f"{type(error).__name__}: {error}"
    return f"{cause}\n\n{''.join(traceback.format_exception(error))}"
