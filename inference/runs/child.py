"""Processes of runs: started, signalled and waited for through a fork server.

A child must not outlive its worker: the worker that takes the run over would compute beside it. Linux sends a
signal when the parent dies. The child itself requests that signal (never between fork and exec of a process
with threads), so it compares process ids to notice a parent that died earlier.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from typing import Self

from django.conf import settings

from inference.agent import priority
from inference.runs.errors import JobError
from inference.runs.journal import Lease
from inference.runs.lifeline import set_parent_death_signal

PARENT_VARIABLE = "PMWEB_LEASE_HOLDER"


class RunChild:
    """The process of a claimed run. `output` joins its standard output and standard error."""

    def __init__(self, output: asyncio.StreamReader, connection: socket.socket) -> None:
        self.output = output
        self._connection = connection
        self._status = asyncio.create_task(self._receive_status())

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the process, or with SIGKILL its process group; does nothing after its end."""
        if not self._status.done():
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._connection.send(bytes([number]))

    async def wait(self) -> int:
        """Exit status of the process after its end; minus the signal's number if a signal ended it."""
        return await asyncio.shield(self._status)

    async def _receive_status(self) -> int:
        with self._connection:
            try:
                status_text = await asyncio.get_running_loop().sock_recv(self._connection, 64)
            except ConnectionResetError:
                status_text = b""
        return (
            int(status_text) if status_text else -signal.SIGKILL
        )  # a server that dies takes its processes with it


class RunProcesses:
    """Starts processes of runs through a fork server, which is started at the first call.

    A dead fork server is replaced. The server ends with the thread that started it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_server()

    async def start(self, lease: Lease) -> RunChild:
        """Start the process of a claimed run in a session of its own.

        Raises:
            OSError: The fork server cannot be started.
        """
        own_end, process_end = socket.socketpair()
        read_end, write_end = os.pipe()
        output_pipe = os.fdopen(read_end, "rb", 0)
        try:
            with process_end, os.fdopen(write_end, "wb"):
                self._send_request(lease, process_end.fileno(), write_end)
        except OSError:
            own_end.close()
            output_pipe.close()
            raise
        own_end.setblocking(False)
        output = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), output_pipe)
        return RunChild(output, own_end)

    def start_server(self) -> None:
        """Start the server from this thread: it ends with its thread, and others may be short-lived."""
        with self._lock:
            if self._server is None or self._server.poll() is not None:
                self._replace_server()

    def _send_request(self, lease: Lease, *descriptors: int) -> None:
        message = [lease.as_text().encode()]
        with self._lock:
            try:
                socket.send_fds(self._requests or self._replace_server(), message, descriptors)
            except (BrokenPipeError, ConnectionResetError):
                socket.send_fds(self._replace_server(), message, descriptors)

    def _replace_server(self) -> socket.socket:
        self._end_server()
        self._requests, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with server_end:
            self._server = subprocess.Popen(  # noqa: S603  there is no shell
                niced_command("fork-server", str(server_end.fileno())),
                env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
                stdin=subprocess.DEVNULL,
                pass_fds=[server_end.fileno()],
                start_new_session=True,
            )
        return self._requests

    def _end_server(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()


def niced_command(*arguments: str) -> tuple[str, ...]:
    """The command line of `manage.py` at the niceness `RUN_NICENESS`, so that pages stay responsive."""
    niceness = str(settings.RUN_NICENESS)
    manage = str(settings.BASE_DIR / "manage.py")
    return sys.executable, priority.__file__, niceness, sys.executable, manage, *arguments


def bind_to_parent() -> None:
    """Tie this process to its worker's life and set its memory limit.

    Raises:
        JobError: The worker has ended already.
    """
    if not set_parent_death_signal(int(os.environ[PARENT_VARIABLE])):
        raise JobError("the worker that started this process is gone")
    limit_memory(settings.RUN_MEMORY_LIMIT_BYTES)


def limit_memory(limit: int | None) -> None:
    """Let allocations beyond a limit of writable private memory fail with `MemoryError`.

    `limit`: bytes; None for no limit.

    The address space stays unlimited: compilers and thread pools reserve far more of it than they use.
    """
    if limit is not None:
        _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
        if hard_limit != resource.RLIM_INFINITY:
            limit = min(limit, hard_limit)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard_limit))
