"""A fork server: a process without threads that starts measuring processes for an agent that has some.

It is forked while the agent is still a plain single-threaded program, with everything imported. A measuring
process starts in a millisecond, needs no readable program files (the agent may have changed its user
meanwhile), and gets a connection of its own.

Messages over a sequenced-packet socket: `spawn` with a socket attached; back come {"born": pid} and, whenever
a process ends, {"gone": pid, "status": wait status}.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket

from inference.agent import child
from inference.agent.priority import set_niceness
from inference.agent.sandbox import become, die_with_parent

SPAWN = b"spawn"
_LARGEST = 4096  # bytes of a request


def start(
    core: int | None, niceness: int = 0, user: str | None = None, *, sandboxed: bool = True
) -> socket.socket:
    """Start the fork server; returns the socket for requests. Call it before any thread exists.

    The measuring processes inherit this process's memory, which must contain no secret.

    Args:
        core: Processor that they run on; None for any.
        niceness: Their niceness, where allowed.
        user: User that they run as; None for this one.
        sandboxed: Whether they refuse to measure where the kernel cannot confine them.
    """
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    if os.fork() == 0:
        status = 1
        try:
            here.close()
            os.setsid()
            set_niceness(niceness)
            if user is not None:
                become(user)
            if die_with_parent(parent):
                _ForkServer(there, core, sandboxed=sandboxed).run()
            status = 0
        finally:
            os._exit(status)
    there.close()
    return here


class _ForkServer:
    """Forks measuring processes on request; it has one thread and no token, so that forks have none."""

    def __init__(self, agent: socket.socket, core: int | None, *, sandboxed: bool) -> None:
        self._agent = agent
        self._core = core
        self._sandboxed = sandboxed
        self._children: set[int] = set()

    def run(self) -> None:
        """Serve until the agent closes the socket."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the agent, which ends the rest
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        agent = self._agent.fileno()
        while True:
            ready, _, _ = select.select([agent, woken], [], [])
            if woken in ready:
                os.read(woken, 512)
                self._reap()
            if agent in ready:
                message, descriptors, _, _ = socket.recv_fds(
                    self._agent, _LARGEST, 1, socket.MSG_CMSG_CLOEXEC
                )
                if not message:
                    return
                self._spawn(socket.socket(fileno=descriptors[0]))

    def _spawn(self, connection: socket.socket) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._agent.close()
                child.serve(connection, self._core, parent, sandboxed=self._sandboxed)
                status = 0
            finally:
                os._exit(status)
        connection.close()
        self._children.add(pid)
        self._send(born=pid)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.discard(pid)
            self._send(gone=pid, status=status)

    def _send(self, **facts: int) -> None:
        with contextlib.suppress(BrokenPipeError):  # the agent is gone: the kernel ends this process as well
            self._agent.send(json.dumps(facts).encode())
