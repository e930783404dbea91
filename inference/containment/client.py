"""The owner's side of `starter`: one small process per process of ours, made at the first use."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import inference
from inference.containment.access import FileAccess
from inference.containment.limits import METER, CannotStartError, Limits, ProgramMeter
from inference.sandbox.starter import LARGEST_PACKET
from inference.sandbox.strangers import Abilities

logger = logging.getLogger(__name__)

AS_ROOT = (
    "This site runs as root and cannot become another user. So predictors' programs run as root, and only "
    "Landlock and filters of system calls keep them from root's files. Run the site as an ordinary user."
)
_ROOT = str(Path(inference.__file__).parent.parent)
_SCRIPT = f"import sys; sys.path.append({_ROOT!r}); from inference.sandbox.starter import main; main()"
_START_SECONDS = 30.0


@dataclass
class Started:
    """A running program: wait for `over`, then `status` and CPU `seconds` are known."""

    number: int
    pid: int = 0
    status: int = 0
    seconds: float = 0.0
    refusal: str = ""
    meter: ProgramMeter | None = field(default_factory=METER.get)
    known: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class _Starter:
    def __init__(self) -> None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = subprocess.Popen(  # noqa: S603  our own script
                [sys.executable, "-I", "-S", "-c", _SCRIPT, str(its.fileno())],
                env={},  # whatever is a secret of ours stays here
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,  # an interrupt from the terminal is the owner's business
            )
        self._socket = ours
        self._programs: dict[int, Started] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._host: Abilities | None = None
        self._tried = threading.Event()
        self.gone = False
        threading.Thread(target=self._listen, name="starter of programs", daemon=True).start()

    def start(self, request: dict[str, Any], streams: Sequence[int]) -> Started:
        with self._lock:
            self._count += 1
            program = self._programs[self._count] = Started(self._count)
        packet = json.dumps({"start": program.number, **request}).encode()
        if len(packet) >= LARGEST_PACKET:
            raise CannotStartError(f"the command line is too long: {len(packet):,} bytes with its settings")
        try:
            socket.send_fds(self._socket, [packet], list(streams))
        except OSError as error:
            raise CannotStartError(f"programs cannot be started any more: {error.strerror}") from error
        if not program.known.wait(_START_SECONDS):
            raise CannotStartError(f"starting it took more than {_START_SECONDS:g} s")
        return program

    def host(self) -> Abilities:
        """What can be had here to contain a program."""
        if not self._tried.wait(_START_SECONDS) or self._host is None:
            raise CannotStartError("the process that starts programs does not come up")
        return self._host

    def end(self, number: int) -> None:
        with contextlib.suppress(OSError):  # it is gone, and all programs with it
            self._socket.send(json.dumps({"end": number}).encode())

    def _listen(self) -> None:
        while True:
            try:
                packet = self._socket.recv(LARGEST_PACKET)
            except OSError:
                packet = b""
            if not packet:
                break
            self._hear(json.loads(packet))
        self.gone = True
        self._tried.set()
        for program in list(self._programs.values()):
            program.refusal = program.refusal or "the process that starts programs has ended"
            program.status = program.status or -9
            program.known.set()
            program.over.set()

    def _hear(self, answer: dict[str, Any]) -> None:
        if "host" in answer:
            self._host = Abilities(**answer["host"])
            self._tried.set()
            if not self._host.unprivileged:
                logger.warning(AS_ROOT)
        elif "ended" in answer:
            program = self._programs.pop(answer["ended"])
            program.status, program.seconds = answer["status"], answer["seconds"]
            if program.meter is not None:
                program.meter.seconds += program.seconds
            program.over.set()
        elif "refused" in answer:
            program = self._programs.pop(answer["refused"])
            program.refusal = answer["reason"]
            program.known.set()
            program.over.set()
        else:
            program = self._programs[answer["started"]]
            program.pid = answer["pid"]
            program.known.set()


_lock = threading.Lock()
_starters: dict[int, _Starter] = {}
"""By process id: a fork of this process must not talk through its parent's."""


def start(
    command: Sequence[str],
    streams: Sequence[int],
    scratch: str,
    environment: Mapping[str, str],
    limits: Limits,
    access: FileAccess,
    *,
    directory: str = "",
    endless: bool = False,
) -> Started:
    """Start a program; `streams` are descriptors of its standard input, output and error, still the caller's.

    `scratch` is a folder made for it, of which it may see a copy that ends with it; `directory` is where it
    runs, if not there; `access` what else it may open; `endless`: its owner sets the limit of CPU time.
    Raises `CannotStartError`.
    """
    request: dict[str, Any] = {
        "command": list(command),
        "directory": directory or scratch,
        "environment": dict(environment),
        "limits": limits.of_the_kernel(endless=endless),
    }
    if access.bounded:
        own = access.with_own(scratch)
        request["files"] = {
            "reads": own.reads,
            "writes": own.writes,
            "scratch": scratch if access.own else "",
            "scratch_bytes": limits.memory << 20,
        }
    program = _starter().start(request, streams)
    if program.refusal:
        raise CannotStartError(f"{command[0]} cannot be started: {program.refusal}")
    return program


def end(program: Started) -> None:
    """Kill a program and all that it started; `program.over` is set when nothing is left."""
    _starter().end(program.number)


def host() -> Abilities:
    """What this host has for containing programs. Raises `CannotStartError`."""
    return _starter().host()


def _starter() -> _Starter:
    with _lock:
        found = _starters.get(os.getpid())
        if found is None or found.gone:
            _starters.clear()
            found = _starters[os.getpid()] = _Starter()
        return found
