"""Supervises a few processes: restarts those that die or hang, and stops all together.

Each child leads a process group of its own: Ctrl-C at the terminal reaches only the supervisor, which stops
the children in order, with their descendants. A dead child is restarted after a pause that doubles with every
early death. A child without heartbeats is killed and restarted. If the supervisor is killed, the kernel kills
its children.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inference.runs.lifeline import HEARTBEAT_VARIABLE, set_parent_death_signal

log = logging.getLogger(__name__)
GRACE_SECONDS = 10.0
"""Seconds that a child may take to stop before it is killed."""

FIRST_PAUSE_SECONDS = 0.25
MAX_PAUSE_SECONDS = 30.0
STABLE_SECONDS = 30.0
"""A child that has lived this long is restarted after the shortest pause."""

MAX_FAILED_STARTS = 3
"""Early deaths of a child before the site's first answer, after which the start fails."""

SILENCE_SECONDS = 20.0
"""Silence after which a child with heartbeats is killed: it is in an endless loop or a deadlock."""

_ABSENCE_SECONDS = 5.0
"""Seconds between two polls above which silence does not count: this process itself was suspended."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK_SECONDS = 0.2


class LaunchError(Exception):
    """The site cannot start or continue; the message says why and what to do."""


def tie_to_parent(parent: int) -> None:
    """End this process when `parent` dies, or now if it has died; called in the child before exec."""
    if not set_parent_death_signal(parent):
        os._exit(1)


@dataclass
class Child:
    """A supervised process.

    Attributes:
        name: Name in messages.
        command: Program and arguments.
        environment: All environment variables.
        directory: Working directory.
        inherited: File descriptors besides the standard ones.
        standard_input: Its input, such as a secret; less than 4 KiB.
        essential: If False, it is started after the site's first answer, and its deaths never fail the start.
        final_status: Exit status after which it is not restarted.
        silence_seconds: Silence of heartbeats after which it is killed; None if it has none.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    inherited: tuple[int, ...] = ()
    standard_input: bytes = b""
    essential: bool = True
    final_status: int | None = None
    silence_seconds: float | None = None
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    next_start: float = 0.0
    early_deaths: int = 0
    _heartbeat_pipe: int | None = field(default=None, init=False)
    _last_heartbeat: float | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the process in a group of its own; it dies with this one."""
        supervisor = os.getpid()
        self.started = time.monotonic()
        beat = self._new_pipe() if self.silence_seconds is not None else None
        heartbeat = {} if beat is None else {HEARTBEAT_VARIABLE: str(beat)}
        self.process = subprocess.Popen(  # noqa: S603  the commands are this program's own
            self.command,
            cwd=self.directory,
            env={**self.environment, **heartbeat},
            stdin=subprocess.PIPE,
            pass_fds=self.inherited if beat is None else (*self.inherited, beat),
            start_new_session=True,
            preexec_fn=lambda: tie_to_parent(supervisor),  # noqa: PLW1509  the supervisor has a single thread
        )
        if beat is not None:
            os.close(beat)
        assert self.process.stdin is not None
        with (
            contextlib.suppress(BrokenPipeError),
            self.process.stdin as pipe,
        ):  # it has died: the next poll notices
            pipe.write(self.standard_input)

    def _new_pipe(self) -> int:
        """Open the pipe of heartbeats; returns the end for the child."""
        if self._heartbeat_pipe is not None:
            os.close(self._heartbeat_pipe)
        self._heartbeat_pipe, beat = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._last_heartbeat = None
        return beat

    def listen(self, *, was_absent: bool) -> None:
        """Read heartbeats; `was_absent`: this process was suspended, so the silence starts anew."""
        if self._heartbeat_pipe is None:
            return
        beaten = False
        with contextlib.suppress(BlockingIOError):
            beaten = bool(os.read(self._heartbeat_pipe, 4096))
        if beaten or (was_absent and self._last_heartbeat is not None):
            self._last_heartbeat = time.monotonic()

    def end_if_hung(self) -> bool:
        """Kill the process if its heartbeats have stopped for too long; whether it was killed."""
        if self.process is None or self._last_heartbeat is None or self.silence_seconds is None:
            return False
        is_hung = time.monotonic() - self._last_heartbeat > self.silence_seconds
        if is_hung:
            self._last_heartbeat = None
            self.send(signal.SIGKILL)
        return is_hung

    def send(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def has_died(self) -> bool:
        """Whether the started process has ended."""
        return self.process is not None and self.process.poll() is not None

    def record_death(self) -> str:
        """After the process's end: kill its group, schedule the restart, and describe the end."""
        assert self.process is not None
        self.send(signal.SIGKILL)
        code = self.process.returncode
        self.process = None
        if code == self.final_status:
            self.next_start = math.inf
            return f"{self.name} ended with status {code}; starting it again would change nothing"
        lived = time.monotonic() - self.started
        self.early_deaths = 0 if lived >= STABLE_SECONDS else self.early_deaths + 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** max(self.early_deaths - 1, 0), MAX_PAUSE_SECONDS)
        self.next_start = time.monotonic() + pause
        cause = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"{self.name} {cause}; starting it again in {pause:g} s"


@dataclass
class ProcessSupervisor:
    """Runs `children` until a stop signal; calls `when_up` once, when `is_up` is first true."""

    children: Sequence[Child]
    is_up: Callable[[], bool]
    when_up: Callable[[], None]
    _stop_requests: int = field(default=0, init=False)
    _has_been_up: bool = field(default=False, init=False)
    _last_poll: float = field(default_factory=time.monotonic, init=False)

    def run(self) -> None:
        """Start and supervise the children; returns after a stop signal, when all have ended.

        Raises:
            LaunchError: A child died `MAX_FAILED_STARTS` times before the site's first answer.
        """
        with self._signals() as woken:
            try:
                while not self._stop_requests:
                    self._poll()
                    self._wait(woken)
            finally:
                self._stop_children(woken)

    def _poll(self) -> None:
        was_absent = time.monotonic() - self._last_poll > _ABSENCE_SECONDS
        self._last_poll = time.monotonic()
        for child in self.children:
            child.listen(was_absent=was_absent)
            if child.end_if_hung():
                log.warning("%s has not answered for %g s and is killed", child.name, child.silence_seconds)
            if child.has_died():
                message = child.record_death()
                if child.essential and not self._has_been_up and child.early_deaths >= MAX_FAILED_STARTS:
                    raise LaunchError(
                        f"{child.name} ended {MAX_FAILED_STARTS} times before the site answered; "
                        "its output is above."
                    )
                log.warning("%s", message)
            due = child.process is None and time.monotonic() >= child.next_start
            if due and (child.essential or self._has_been_up):
                child.start()
        if not self._has_been_up and self.is_up():
            self._has_been_up = True
            self.when_up()

    def _stop_children(self, woken: int) -> None:
        """Send SIGTERM, wait, and kill remaining children; a second stop signal ends the wait."""
        initial_requests = self._stop_requests
        deadline = time.monotonic() + GRACE_SECONDS
        for child in self.children:
            child.send(signal.SIGTERM)
        running = [child for child in self.children if child.process is not None]
        while running and time.monotonic() < deadline and self._stop_requests <= max(initial_requests, 1):
            self._wait(woken)
            running = [child for child in running if not child.has_died()]
        for child in running:
            log.warning("%s did not stop in time and is killed", child.name)
        for child in self.children:
            child.send(signal.SIGKILL)  # the group: also descendants of a child that has ended
            if child.process is not None:
                child.process.wait()

    def _wait(self, woken: int) -> None:
        """Sleep until a signal, or the next poll."""
        select.select([woken], [], [], _TICK_SECONDS)
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 512)

    def _request_stop(self, _number: int, _frame: object) -> None:
        self._stop_requests += 1

    @contextlib.contextmanager
    def _signals(self) -> Iterator[int]:
        """Handle stop signals; yields a descriptor that becomes readable with any signal."""
        wakeup_read, wakeup_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = {number: signal.signal(number, self._request_stop) for number in _STOP_SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        wakeup = signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
        try:
            yield wakeup_read
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(wakeup_read)
            os.close(wakeup_write)
