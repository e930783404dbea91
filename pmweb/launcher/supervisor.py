"""Keeps a handful of processes running, and ends them together.

Each child leads a process group of its own: a Ctrl-C at the terminal reaches the supervisor alone, which then
stops the children in order, and whatever a child started can be ended with it. A child that dies is started
again after a pause that doubles with every early death. One whose loop stands still, as far as its heartbeats
tell, is killed first. If the supervisor itself is killed, the kernel kills its children.
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

from inference.runs.lifeline import HEARTBEAT_VARIABLE, end_with

log = logging.getLogger(__name__)
GRACE_SECONDS = 10.0
"""How long a child may take to stop by itself before it is killed."""

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 30.0
STABLE_SECONDS = 30.0
"""A child that lived this long is started again without delay when it dies."""

FUTILE_STARTS = 3
"""Deaths before the site has answered for the first time, after which starting is given up."""

SILENCE_SECONDS = 20.0
"""A child whose heart has beaten, and has not for so long, is killed: a pattern without end, a deadlock."""

_ABSENCE_SECONDS = 5.0
"""Where this process itself did not come to look for so long, beats may have been missed."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK_SECONDS = 0.2


class LaunchError(Exception):
    """The site cannot start or go on; the message says why and what to do."""


def die_with(parent: int) -> None:
    """End this process when `parent` dies, or at once if it has; to be called in the child before exec."""
    if not end_with(parent):
        os._exit(1)


@dataclass
class Child:
    """One supervised process.

    `inherited`: file descriptors it gets besides the standard ones. `given`: its standard input, such as a
    secret, of less than a page. One that is not `essential` is started
    when the site has answered for the first time, and its deaths are no reason to give up. `final_status`:
    the exit status by which it says that starting it again would change nothing. `silence_seconds`: without a
    heartbeat for so long it is taken to be hung; None for a process that has none.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    inherited: tuple[int, ...] = ()
    given: bytes = b""
    essential: bool = True
    final_status: int | None = None
    silence_seconds: float | None = None
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    start_again_at: float = 0.0
    early_deaths: int = 0
    _beats: int | None = field(default=None, init=False)
    _beaten: float | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the process in a group of its own, tied to this one's life."""
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
            preexec_fn=lambda: die_with(supervisor),  # noqa: PLW1509  the supervisor has a single thread
        )
        if beat is not None:
            os.close(beat)
        assert self.process.stdin is not None
        with (
            contextlib.suppress(BrokenPipeError),
            self.process.stdin as pipe,
        ):  # it has died: somebody will see
            pipe.write(self.given)

    def _new_pipe(self) -> int:
        """The end of a pipe over which heartbeats are sent; this object keeps the other."""
        if self._beats is not None:
            os.close(self._beats)
        self._beats, beat = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._beaten = None
        return beat

    def listen(self, *, was_absent: bool) -> None:
        """Take note of heartbeats; `was_absent`: nobody listened for a while, so the silence counts anew."""
        if self._beats is None:
            return
        beaten = False
        with contextlib.suppress(BlockingIOError):
            beaten = bool(os.read(self._beats, 4096))
        if beaten or (was_absent and self._beaten is not None):
            self._beaten = time.monotonic()

    def end_if_hung(self) -> bool:
        """Kill the process if it had a heartbeat and has had none for too long; whether that was so."""
        if self.process is None or self._beaten is None or self.silence_seconds is None:
            return False
        is_hung = time.monotonic() - self._beaten > self.silence_seconds
        if is_hung:
            self._beaten = None
            self.send(signal.SIGKILL)
        return is_hung

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and to whatever it has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def has_died(self) -> bool:
        """Whether the process was running and no longer is."""
        return self.process is not None and self.process.poll() is not None

    def bury(self) -> str:
        """After a death: end what it left behind, plan the next start, and say how it died."""
        assert self.process is not None
        self.send(signal.SIGKILL)
        code = self.process.returncode
        self.process = None
        if code == self.final_status:
            self.start_again_at = math.inf
            return f"{self.name} ended with status {code}; starting it again would change nothing"
        lived = time.monotonic() - self.started
        self.early_deaths = 0 if lived >= STABLE_SECONDS else self.early_deaths + 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** max(self.early_deaths - 1, 0), LONGEST_PAUSE_SECONDS)
        self.start_again_at = time.monotonic() + pause
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"{self.name} {how}; starting it again in {pause:g} s"


@dataclass
class ProcessSupervisor:
    """Runs `children` until somebody says stop.

    `is_up` is asked until it says yes for the first time; then `when_up` is called once.
    """

    children: Sequence[Child]
    is_up: Callable[[], bool]
    when_up: Callable[[], None]
    _stop_requests: int = field(default=0, init=False)
    _has_been_up: bool = field(default=False, init=False)
    _looked: float = field(default_factory=time.monotonic, init=False)

    def run(self) -> None:
        """Start everything, keep it running, and return when all of it has ended after a stop signal.

        Raises LaunchError if a child dies again and again before the site has answered once.
        """
        with self._signals() as woken:
            try:
                while not self._stop_requests:
                    self._tend()
                    self._wait(woken)
            finally:
                self._stop_children(woken)

    def _tend(self) -> None:
        was_absent = time.monotonic() - self._looked > _ABSENCE_SECONDS
        self._looked = time.monotonic()
        for child in self.children:
            child.listen(was_absent=was_absent)
            if child.end_if_hung():
                log.warning("%s has not answered for %g s and is killed", child.name, child.silence_seconds)
            if child.has_died():
                obituary = child.bury()
                if child.essential and not self._has_been_up and child.early_deaths >= FUTILE_STARTS:
                    raise LaunchError(
                        f"{child.name} ended {FUTILE_STARTS} times before the site answered; "
                        "what it said is printed above."
                    )
                log.warning("%s", obituary)
            due = child.process is None and time.monotonic() >= child.start_again_at
            if due and (child.essential or self._has_been_up):
                child.start()
        if not self._has_been_up and self.is_up():
            self._has_been_up = True
            self.when_up()

    def _stop_children(self, woken: int) -> None:
        """Ask everybody to stop, wait, kill who is left; a second stop signal ends the waiting."""
        asked = self._stop_requests
        deadline = time.monotonic() + GRACE_SECONDS
        for child in self.children:
            child.send(signal.SIGTERM)
        running = [child for child in self.children if child.process is not None]
        while running and time.monotonic() < deadline and self._stop_requests <= max(asked, 1):
            self._wait(woken)
            running = [child for child in running if not child.has_died()]
        for child in running:
            log.warning("%s did not stop in time and is killed", child.name)
        for child in self.children:
            child.send(signal.SIGKILL)  # the whole group: also what a child left behind
            if child.process is not None:
                child.process.wait()

    def _wait(self, woken: int) -> None:
        """Sleep until a signal comes in or it is time to look again."""
        select.select([woken], [], [], _TICK_SECONDS)
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 512)

    def _request_stop(self, _number: int, _frame: object) -> None:
        self._stop_requests += 1

    @contextlib.contextmanager
    def _signals(self) -> Iterator[int]:
        """Handle stop signals; yields a descriptor that becomes readable with any signal."""
        woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = {number: signal.signal(number, self._request_stop) for number in _STOP_SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        wakeup = signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        try:
            yield woken
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(woken)
            os.close(waking)
