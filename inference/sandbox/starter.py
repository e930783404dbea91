"""Starts and ends foreign programs for another process; it needs nothing but Python and this package.

The owner talks to it through a socket of packets (`client`). A request has JSON and the program's three
standard streams:

| request | meaning |
|---|---|
| `{"start": 7, "command": […], "directory": …, "environment": …, "limits": …}`, 3 descriptors | start it |
| with `"files": {"reads": […], …}` as well | start it as a stranger, who opens these (`strangers.Places`) |
| `{"end": 7}` | kill it and whatever it started |

| answer | meaning |
|---|---|
| `{"host": {…}}` | before all others: what of `strangers` can be had here |
| `{"started": 7, "pid": …}` | it runs |
| `{"refused": 7, "reason": …}` | it could not be started |
| `{"ended": 7, "status": …, "seconds": …}` | exit status, negative for a signal, and CPU time; all is gone |

Forking in a small process with a single thread is quick, and the only safe place to set limits. Each program
is a session of its own and dies with this process; this process ends when its owner's socket is closed. What
a program leaves behind becomes a child of this process and is killed, even if it changed its session.
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

from inference.sandbox import kernel, strangers, users

LARGEST_PACKET = 1 << 17
"""Bytes of a request: long command lines and environments."""

_LIMITS = {
    "address_space": resource.RLIMIT_AS,
    "cpu_seconds": resource.RLIMIT_CPU,
    "file_bytes": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
}


class Starter:
    """The programs of one owner: {process id: the owner's number}."""

    def __init__(self, owner: socket.socket) -> None:
        self._owner = owner
        self._running: dict[int, int] = {}
        self._host = strangers.abilities()

    def serve(self) -> None:
        """Until the owner is gone; then nothing that was started is left."""
        self._say({"host": dataclasses.asdict(self._host)})
        kernel.adopt_orphans()
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        watched = selectors.DefaultSelector()
        watched.register(self._owner, selectors.EVENT_READ)
        watched.register(woken, selectors.EVENT_READ)
        try:
            while True:
                for key, _ in watched.select():
                    if key.fileobj == woken:
                        os.read(woken, 4096)
                        self._reap()
                    elif not self._serve_one():
                        return
        finally:
            for pid in list(self._running):
                _kill_group(pid)
            self._kill_orphans()

    def _serve_one(self) -> bool:
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
        reading, tell = os.pipe2(os.O_CLOEXEC)
        starter = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(request, streams, tell, self._host, starter)
        os.close(tell)
        with os.fdopen(reading, "rb") as pipe:
            reason = pipe.read().decode(errors="replace")
        if reason:
            os.waitpid(pid, 0)
            self._say({"refused": request["start"], "reason": reason})
            return
        self._running[pid] = request["start"]
        self._say({"started": request["start"], "pid": pid})

    def _reap(self) -> None:
        for pid, status, seconds in _ended():
            number = self._running.pop(pid, None)
            if number is not None:
                _kill_group(pid)
                self._kill_orphans()
                self._say({"ended": number, "status": os.waitstatus_to_exitcode(status), "seconds": seconds})
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """End whatever has lost its parent, and wait until it has ended."""
        while orphans := _children() - self._running.keys():
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _say(self, answer: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):  # the next look at the socket finds that the owner is gone
            self._owner.send(json.dumps(answer).encode())


def _ended() -> Iterator[tuple[int, int, float]]:
    """(process id, status, CPU seconds) of every child that has ended."""
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


def _become(
    request: dict[str, Any], streams: list[int], tell: int, host: strangers.Abilities, starter: int
) -> None:
    """Turn this process into the program; on failure, say why through `tell` and end."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for usual in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE):
            signal.signal(usual, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in request["limits"].items():
            _limit(_LIMITS[name], value)
        for standard, given in enumerate(streams):
            os.dup2(given, standard)
        kernel.close_all_but(0, 1, 2, tell)
        os.chdir(request["directory"])
        if files := request.get("files"):
            strangers.confine(strangers.Places(**files), host)
        kernel.end_with_parent()
        if os.getppid() != starter:
            os._exit(1)
        os.execve(request["command"][0], request["command"], request["environment"])  # noqa: S606  no shell
    except BaseException as error:  # noqa: BLE001  the fork must not go on as the starter
        reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
        if isinstance(error, PermissionError) and os.geteuid() == users.UNPRIVILEGED:
            reason += f" for user {users.UNPRIVILEGED}, whom a site of root's runs programs as"
        os.write(tell, reason.encode())
    finally:
        os._exit(127)


def _limit(resource_number: int, value: int) -> None:
    """Set a limit which the program cannot raise again.

    A program that has used its processor's time gets a signal that says so, and is killed a second later.
    """
    _, most = resource.getrlimit(resource_number)
    possible = value if most == resource.RLIM_INFINITY else min(value, most)
    grace = int(resource_number == resource.RLIMIT_CPU and possible == value)
    resource.setrlimit(resource_number, (possible, possible + grace))


def main() -> None:
    """Serve the socket whose descriptor is the last word of the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when all is over
    kernel.close_to_others()
    owner = socket.socket(fileno=int(sys.argv[-1]))
    owner.set_inheritable(False)
    Starter(owner).serve()


if __name__ == "__main__":
    main()
