"""The child process of a run, as its supervisor has it: started, signalled and waited for by a fork server.

A child must not outlive its worker: whoever takes the run over would compute beside it. Linux sends a signal
when the parent dies; asked for in the child itself (not between fork and exec of a process with threads), so
a parent that died before that is noticed by comparing process ids.
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
from inference.runs.lifeline import end_with

PARENT_VARIABLE = "PMWEB_LEASE_HOLDER"


class RunChild:
    """The process of a claimed run. `output` is what it prints, both streams in one."""

    def __init__(self, output: asyncio.StreamReader, connection: socket.socket) -> None:
        self.output = output
        self._connection = connection
        self._status = asyncio.create_task(self._hear_status())

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the process, or with SIGKILL its whole group; nothing happens where it has ended."""
        if not self._status.done():
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._connection.send(bytes([number]))

    async def wait(self) -> int:
        """Its exit status once it has ended, or minus the number of the signal that ended it."""
        return await asyncio.shield(self._status)

    async def _hear_status(self) -> int:
        with self._connection:
            try:
                said = await asyncio.get_running_loop().sock_recv(self._connection, 64)
            except ConnectionResetError:
                said = b""
        return int(said) if said else -signal.SIGKILL  # a server that dies takes its processes with it


class RunProcesses:
    """Has the processes of runs forked, by a fork server that is started when it is first needed.

    When it dies, another takes its place. It ends with the thread that has started it.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_server()

    async def start(self, lease: Lease) -> RunChild:
        """The process of a claimed run, in a session of its own; `OSError` where no server can be started."""
        here, there = socket.socketpair()
        reading, writing = os.pipe()
        pipe = os.fdopen(reading, "rb", 0)
        try:
            with there, os.fdopen(writing, "wb"):
                self._ask(lease, there.fileno(), writing)
        except OSError:
            here.close()
            pipe.close()
            raise
        here.setblocking(False)
        output = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), pipe)
        return RunChild(output, here)

    def start_server(self) -> None:
        """Have this thread start the server, where threads that do not stay will need it."""
        with self._turn:
            if self._server is None or self._server.poll() is not None:
                self._new_server()

    def _ask(self, lease: Lease, *descriptors: int) -> None:
        message = [lease.as_text().encode()]
        with self._turn:
            try:
                socket.send_fds(self._requests or self._new_server(), message, descriptors)
            except (BrokenPipeError, ConnectionResetError):
                socket.send_fds(self._new_server(), message, descriptors)

    def _new_server(self) -> socket.socket:
        self._end_server()
        self._requests, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self._server = subprocess.Popen(  # noqa: S603  there is no shell
                giving_way("fork-server", str(there.fileno())),
                env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,
            )
        return self._requests

    def _end_server(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()


def giving_way(*arguments: str) -> tuple[str, ...]:
    """The command line of a `manage.py` that gives way to the site's pages."""
    niceness = str(settings.RUN_NICENESS)
    manage = str(settings.BASE_DIR / "manage.py")
    return sys.executable, priority.__file__, niceness, sys.executable, manage, *arguments


def bind_to_parent() -> None:
    """Die when the worker dies, and keep within the memory limit.

    Raises `JobError` where the worker is gone already.
    """
    if not end_with(int(os.environ[PARENT_VARIABLE])):
        raise JobError("the worker that started this process is gone")
    limit_memory(settings.RUN_MEMORY_LIMIT_BYTES)


def limit_memory(limit: int | None) -> None:
    """Let allocations beyond `limit` bytes of writable private memory fail with `MemoryError`.

    Not the address space: compilers and thread pools reserve far more of that than they ever use.
    """
    if limit is not None:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
