"""How a search reports its progress and shares out its work, without either changing what it finds.

A `PacedReporter` is one that listeners can follow, however often it is called. An `Executor` carries out
pieces of a computation that do not need each other: threads here, or workers elsewhere. A piece is bytes, and
so is its answer (`checkpoint.encode`): it does not matter where it is worked on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from inference.core.errors import KEEP, InterruptedRunError
from inference.core.events import Event, Log
from inference.core.protocols import Checkpoint, Reporter

PULSE_EVERY = 0.1  # seconds
TELL_EVERY = 0.5
SHOW_EVERY = 2.0
SAVE_EVERY = 3.0
SAVE_SHARE = 0.05  # at most this share of the time goes into saving


class SilentReporter:
    """A reporter that nobody listens to; `pulse` can end what reports to it."""

    def __init__(self, pulse: Callable[[], None] = lambda: None) -> None:
        self.pulse = pulse

    def emit(self, event: Event) -> None:
        pass

    def save(self, checkpoint: Checkpoint) -> None:
        pass


class PacedReporter:
    """A reporter behind rate limits. Nothing here may influence what the search finds."""

    def __init__(self, reporter: Reporter, clock: Callable[[], float] = time.monotonic) -> None:
        self._reporter = reporter
        self.clock = clock
        self._pulsed = clock()
        self._saved = clock()
        self._save_cost = 0.0
        self._told: dict[str, float] = {}
        self.may_finish = False
        """Whether there is something to keep: then the wish to stop and keep it interrupts nothing."""
        self.finishing = False
        """Whether somebody wants the best that there is, and the search shall come to its end."""
        self._began = clock()
        self._deadline: float | None = None

    def limit(self, seconds: float) -> None:
        """Wish for the best that there is after so many seconds."""
        self._began = self.clock()
        self._deadline = self._began + seconds

    @property
    def elapsed(self) -> float:
        """Share of the time limit that is over; 0 without one."""
        return (
            0.0 if self._deadline is None else (self.clock() - self._began) / (self._deadline - self._began)
        )

    def pulse(self) -> None:
        """Cheap enough for inner loops; raises `InterruptedRunError` when somebody wants a stop."""
        now = self.clock()
        if self._deadline is not None and now > self._deadline and self.may_finish and not self.finishing:
            self.finishing = True
            self.emit(Log("warning", "the time limit is reached: the search ends with the best so far"))
        if now - self._pulsed >= PULSE_EVERY:
            self._pulsed = now
            try:
                self._reporter.pulse()
            except InterruptedRunError as error:
                if error.wanted != KEEP or not self.may_finish:
                    raise
                self.finishing = True

    def emit(self, event: Event) -> None:
        self._reporter.emit(event)

    def due(self, kind: str, every: float = TELL_EVERY) -> bool:
        """Whether that much time has passed since this was last true for the kind; at first it is."""
        now = self.clock()
        if kind in self._told and now - self._told[kind] < every:
            return False
        self._told[kind] = now
        return True

    def save(self, make: Callable[[], Checkpoint], *, now: bool = False) -> None:
        """Save if it is time, or `now`; large checkpoints are saved less often."""
        start = self.clock()
        if not now and start - self._saved < max(SAVE_EVERY, self._save_cost / SAVE_SHARE):
            return
        self._reporter.save(make())
        self._saved = self.clock()
        self._save_cost = self._saved - start


@dataclass(frozen=True)
class TaskContext:
    """Where a piece is worked on: the threads that it may use, and the pulse that it keeps.

    The pulse raises `InterruptedRunError` when nobody waits for the answer any more.
    """

    threads: int
    pulse: Callable[[], None]


Task = Callable[[bytes, bytes, TaskContext], bytes]
"""A function of a module (workers find it by its name) from what all pieces have in common, one piece, and
its context, to the answer. The answer depends on the first two alone: a lost piece is worked on again."""


class Executor(Protocol):
    """Carries out pieces, on however many benches."""

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        """The answers to the pieces, in their order.

        Keeps the pulse of `pace` meanwhile; what that raises ends the work, and so does what a piece raises.
        """
        ...


class LocalExecutor:
    """The threads of this process: compiled loops hold no interpreter lock, and nothing has to be started.

    `threads`: how many, shared out among the pieces; 0: one per processor.
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        together = min(self._threads, len(pieces))
        if together <= 1:
            context = TaskContext(self._threads, pace.pulse)
            return [task(common, piece, context) for piece in pieces]
        withdrawn = threading.Event()
        context = TaskContext(self._threads // together, lambda: _go_on_unless(withdrawn))
        with ThreadPoolExecutor(together) as pool:
            answers = [pool.submit(task, common, piece, context) for piece in pieces]
            try:
                _await(answers, pace)
            except BaseException:
                withdrawn.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [answer.result() for answer in answers]


def _await(answers: Sequence[Future[bytes]], pace: PacedReporter) -> None:
    waiting = set(answers)
    while waiting:
        done, waiting = wait(waiting, timeout=PULSE_EVERY, return_when=FIRST_COMPLETED)
        for answer in done:
            answer.result()
        pace.pulse()


def _go_on_unless(withdrawn: threading.Event) -> None:
    if withdrawn.is_set():
        raise InterruptedRunError("withdrawal")
