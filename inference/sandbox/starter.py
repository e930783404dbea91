"""Starts and ends foreign programs for another process, its owner; it needs only Python and this package.

The owner sends packets through a socket (`client`). A request is JSON with the program's three standard
streams:

| request | meaning |
|---|---|
| `{"start": 7, "command": […], "directory": …, "environment": …, "limits": …}`, 3 descriptors | start it |
| with `"files": {"reads": […], …}` as well | start it confined to these (`confinement.AllowedFiles`) |
| `{"end": 7}` | kill it and its children |

| answer | meaning |
|---|---|
| `{"host": {…}}` | first of all: the host's `confinement.Abilities` |
| `{"started": 7, "pid": …}` | it runs |
| `{"refused": 7, "reason": …}` | it could not be started |
| `{"ended": 7, "status": …, "seconds": …}` | exit status, negative for a signal, and CPU time; none left |

Forking a small process with a single thread is quick, and only it can set limits safely. Each program is
a session of its own and dies with this process; this process ends when its owner's socket is closed. Orphans
of a program become children of this process and are killed, even if they changed their session.
"""

from __future__ import annotations

import array
import contextlib
import dataclasses
import json
import os
import resource
import selectors
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inference.sandbox import confinement, kernel, users

LARGEST_PACKET = 1 << 17
"""Bytes of the largest request, for long command lines and environments."""

_LIMITS = {
    "address_space": resource.RLIMIT_AS,
    "cpu_seconds": resource.RLIMIT_CPU,
    "file_bytes": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
}


class Starter:
    """The programs of one owner, by process id and the owner's number."""

    def __init__(self, owner: socket.socket) -> None:
        self._owner = owner
        self._running: dict[int, int] = {}
        self._host = confinement.abilities()

    def serve(self) -> None:
        """Serve until the owner's socket is closed; then all started programs have been killed."""
        self._send({"host": dataclasses.asdict(self._host)})
        kernel.adopt_orphans()
        wakeup_reader, wakeup_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
        selector = selectors.DefaultSelector()
        selector.register(self._owner, selectors.EVENT_READ)
        selector.register(wakeup_reader, selectors.EVENT_READ)
        try:
            while True:
                for key, _ in selector.select():
                    if key.fileobj == wakeup_reader:
                        os.read(wakeup_reader, 4096)
                        self._reap()
                    elif not self._handle_request():
                        return
        finally:
            for pid in list(self._running):
                _kill_group(pid)
            self._kill_orphans()

    def _handle_request(self) -> bool:
        streams = array.array("i")
        room = socket.CMSG_SPACE(3 * streams.itemsize)
        try:
            packet, carried, _, _ = self._owner.recvmsg(LARGEST_PACKET, room, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            return False
        for level, kind, content in carried:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                streams.frombytes(content)
        if not packet:
            return False
        request = json.loads(packet)
        if "end" in request:
            for pid, number in self._running.items():
                if number == request["end"]:
                    _kill_group(pid)
            return True
        try:
            self._start(request, list(streams))
        finally:
            for stream in streams:
                os.close(stream)
        return True

    def _start(self, request: dict[str, Any], streams: list[int]) -> None:
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        starter = os.getpid()
        pid = os.fork()
        if pid == 0:
            _execute_program(request, streams, write_end, self._host, starter)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            reason = pipe.read().decode(errors="replace")
        if reason:
            os.waitpid(pid, 0)
            self._send({"refused": request["start"], "reason": reason})
            return
        self._running[pid] = request["start"]
        self._send({"started": request["start"], "pid": pid})

    def _reap(self) -> None:
        for pid, status, seconds in _ended_children():
            number = self._running.pop(pid, None)
            if number is not None:
                _kill_group(pid)
                self._kill_orphans()
                self._send({"ended": number, "status": os.waitstatus_to_exitcode(status), "seconds": seconds})
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """Kill all children that the owner did not start, and wait for their end."""
        while orphans := _children() - self._running.keys():
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _send(self, answer: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):  # the next look at the socket finds that the owner is gone
            self._owner.send(json.dumps(answer).encode())


def _ended_children() -> Iterator[tuple[int, int, float]]:
    """(process id, wait status, CPU seconds) of each child that has ended."""
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status, used.ru_utime + used.ru_stime


def _children() -> set[int]:
    try:
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
    except OSError:  # a kernel without this list
        return set()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _execute_program(
    request: dict[str, Any], streams: list[int], failure_pipe: int, host: confinement.Abilities, starter: int
) -> None:
    """Turn this forked process into the program; on failure, write the reason to `failure_pipe` and exit."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for handled in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE):
            signal.signal(handled, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in request["limits"].items():
            _limit(_LIMITS[name], value)
        for standard, stream in enumerate(streams):
            os.dup2(stream, standard)
        kernel.close_all_but(0, 1, 2, failure_pipe)
        os.chdir(request["directory"])
        if files := request.get("files"):
            confinement.confine(confinement.AllowedFiles(**files), host)
        kernel.end_with_parent()
        if os.getppid() != starter:
            os._exit(1)
        os.execve(request["command"][0], request["command"], request["environment"])  # noqa: S606  no shell
    except BaseException as error:  # noqa: BLE001  the fork must not go on as the starter
        reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
        if isinstance(error, PermissionError) and os.geteuid() == users.UNPRIVILEGED:
            reason += f" for user {users.UNPRIVILEGED}, whom a site of root's runs programs as"
        os.write(failure_pipe, reason.encode())
    finally:
        os._exit(127)


def _limit(resource_number: int, value: int) -> None:
    """Set a limit that the program cannot raise again, at most the current hard limit.

    A program that exceeds its CPU time gets SIGXCPU, which its status shows, and is killed a second later.
    """
    _, hard_limit = resource.getrlimit(resource_number)
    soft_limit = value if hard_limit == resource.RLIM_INFINITY else min(value, hard_limit)
    grace = int(resource_number == resource.RLIMIT_CPU and soft_limit == value)
    resource.setrlimit(resource_number, (soft_limit, soft_limit + grace))


def main() -> None:
    """Serve the socket whose descriptor is the last word of the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when all is over
    kernel.deny_inspection()
    owner = socket.socket(fileno=int(sys.argv[-1]))
    owner.set_inheritable(False)
    Starter(owner).serve()


if __name__ == "__main__":
    main()
