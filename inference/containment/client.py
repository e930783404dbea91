"""The owner's side of `inference.sandbox.starter`: one starter process per site process, created at the first
use."""

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
from inference.sandbox.confinement import Abilities
from inference.sandbox.starter import LARGEST_PACKET

logger = logging.getLogger(__name__)

AS_ROOT = (
    "This site runs as root and cannot become another user. So predictors' programs run as root, and only "
    "Landlock and filters of system calls keep them from root's files. Run the site as an ordinary user."
)
_SOURCE_ROOT = str(Path(inference.__file__).parent.parent)
_STARTER_SCRIPT = (
    f"import sys; sys.path.append({_SOURCE_ROOT!r}); from inference.sandbox.starter import main; main()"
)
_START_SECONDS = 30.0  # until a program must have been started or refused


@dataclass
class StartedProgram:
    """A program that was started: wait for `ended`, then `status` and `cpu_seconds` are final.

    `launch_answered` is set when the starter has either started or refused it; `refusal` is "" unless
    refused. `status` is negative for a signal.
    """

    number: int
    pid: int = 0
    status: int = 0
    cpu_seconds: float = 0.0
    refusal: str = ""
    meter: ProgramMeter | None = field(default_factory=METER.get)
    launch_answered: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


class _StarterProcess:
    """The process that starts programs; it has neither threads nor secrets, which forks would inherit."""

    def __init__(self) -> None:
        owner_socket, starter_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with starter_socket:
            self._process = subprocess.Popen(  # noqa: S603  our own script
                [sys.executable, "-I", "-S", "-c", _STARTER_SCRIPT, str(starter_socket.fileno())],
                env={},  # keeps our secrets out of the starter
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[starter_socket.fileno()],
                start_new_session=True,  # an interrupt from the terminal is the owner's business
            )
        self._socket = owner_socket
        self._programs: dict[int, StartedProgram] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._host: Abilities | None = None
        self._abilities_reported = threading.Event()
        self.has_ended = False
        threading.Thread(target=self._listen, name="starter of programs", daemon=True).start()

    def start(self, request: dict[str, Any], streams: Sequence[int]) -> StartedProgram:
        with self._lock:
            self._count += 1
            program = self._programs[self._count] = StartedProgram(self._count)
        packet = json.dumps({"start": program.number, **request}).encode()
        if len(packet) >= LARGEST_PACKET:
            raise CannotStartError(f"the command line is too long: {len(packet):,} bytes with its settings")
        try:
            socket.send_fds(self._socket, [packet], list(streams))
        except OSError as error:
            raise CannotStartError(f"programs cannot be started any more: {error.strerror}") from error
        if not program.launch_answered.wait(_START_SECONDS):
            raise CannotStartError(f"starting it took more than {_START_SECONDS:g} s")
        return program

    def host(self) -> Abilities:
        """The means of confinement that this host has. Raises `CannotStartError`."""
        if not self._abilities_reported.wait(_START_SECONDS) or self._host is None:
            raise CannotStartError("the process that starts programs does not answer")
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
            self._handle_answer(json.loads(packet))
        self.has_ended = True
        self._abilities_reported.set()
        for program in list(self._programs.values()):
            program.refusal = program.refusal or "the process that starts programs has ended"
            program.status = program.status or -9
            program.launch_answered.set()
            program.ended.set()

    def _handle_answer(self, answer: dict[str, Any]) -> None:
        if "host" in answer:
            self._host = Abilities(**answer["host"])
            self._abilities_reported.set()
            if not self._host.unprivileged:
                logger.warning(AS_ROOT)
        elif "ended" in answer:
            program = self._programs.pop(answer["ended"])
            program.status, program.cpu_seconds = answer["status"], answer["seconds"]
            if program.meter is not None:
                program.meter.seconds += program.cpu_seconds
            program.ended.set()
        elif "refused" in answer:
            program = self._programs.pop(answer["refused"])
            program.refusal = answer["reason"]
            program.launch_answered.set()
            program.ended.set()
        else:
            program = self._programs[answer["started"]]
            program.pid = answer["pid"]
            program.launch_answered.set()


_lock = threading.Lock()
_starters: dict[int, _StarterProcess] = {}
"""By process id: a forked process must not use its parent's socket."""


def start(
    command: Sequence[str],
    streams: Sequence[int],
    scratch: str,
    environment: Mapping[str, str],
    limits: Limits,
    access: FileAccess,
    *,
    directory: str = "",
    unbounded_cpu: bool = False,
) -> StartedProgram:
    """Start a program in its scratch folder.

    Args:
        command: Its words; the first is an absolute path.
        streams: Descriptors of its standard input, output and error; they stay the caller's.
        scratch: A folder made for it. With bounded access it sees a copy that ends with it.
        environment: All its environment variables.
        limits: Its limits on CPU time, memory, output, processes and open files.
        access: What else it may open.
        directory: Where it runs; "" for `scratch`.
        unbounded_cpu: The caller sets the limit of CPU time itself.

    Raises:
        CannotStartError: It is missing, refused, or the starter has ended.
    """
    request: dict[str, Any] = {
        "command": list(command),
        "directory": directory or scratch,
        "environment": dict(environment),
        "limits": limits.as_kernel_limits(unbounded_cpu=unbounded_cpu),
    }
    if access.bounded:
        granted = access.with_directory(scratch)
        request["files"] = {
            "reads": granted.reads,
            "writes": granted.writes,
            "scratch": scratch if access.own_directory else "",
            "scratch_bytes": limits.memory << 20,
        }
    program = _starter().start(request, streams)
    if program.refusal:
        raise CannotStartError(f"{command[0]} cannot be started: {program.refusal}")
    return program


def end(program: StartedProgram) -> None:
    """Kill a program and everything it started; `program.ended` is set when nothing is left."""
    _starter().end(program.number)


def host() -> Abilities:
    """The means of confinement that this host has. Raises `CannotStartError`."""
    return _starter().host()


def _starter() -> _StarterProcess:
    with _lock:
        starter = _starters.get(os.getpid())
        if starter is None or starter.has_ended:
            _starters.clear()
            starter = _starters[os.getpid()] = _StarterProcess()
        return starter
