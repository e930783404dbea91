"""How a search reports progress and distributes work, without either changing its result.

A `PacedReporter` limits the rates of reports, however often it is called. An `Executor` carries out
independent pieces of a computation: in threads here, or on workers of a cluster. A piece and its answer are
bytes (`checkpoint.encode`), so it does not matter where a piece is computed.
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
from inference.core.search_clocks import elapsed_seconds

PULSE_INTERVAL = 0.1  # seconds
EMIT_INTERVAL = 0.5  # seconds between events of one kind
PROGRESS_INTERVAL = 2.0  # seconds between reports of progress
SAVE_INTERVAL = 3.0  # seconds between checkpoints, at least
MAX_SAVE_SHARE = 0.05  # at most this share of the time goes into saving


class SilentReporter:
    """A reporter that discards events and checkpoints; `pulse` can end the search that calls it."""

    def __init__(self, pulse: Callable[[], None] = lambda: None) -> None:
        self.pulse = pulse

    def emit(self, event: Event) -> None:
        pass

    def save(self, checkpoint: Checkpoint) -> None:
        pass


class PacedReporter:
    """A reporter with rate limits. Nothing here may influence the result of the search."""

    def __init__(self, reporter: Reporter, clock: Callable[[], float] | None = None) -> None:
        self._reporter = reporter
        self.clock = clock or time.monotonic
        self._limit_clock = clock or elapsed_seconds
        self._pulsed = self.clock()
        self._saved = self.clock()
        self._save_cost = 0.0
        self._emitted: dict[str, float] = {}
        self.may_finish = False
        """Whether there is something to keep: then the wish to stop and keep it interrupts nothing."""
        self.finishing = False
        """Whether the search should end early with the best result so far."""
        self._began = self._limit_clock()
        self._deadline: float | None = None

    def limit(self, seconds: float) -> None:
        """Request the best result so far after this many seconds."""
        self._began = self._limit_clock()
        self._deadline = self._began + seconds

    @property
    def elapsed(self) -> float:
        """Elapsed share of the time limit; 0 without one."""
        if self._deadline is None:
            return 0.0
        return (self._limit_clock() - self._began) / (self._deadline - self._began)

    def pulse(self) -> None:
        """Cheap enough for inner loops; raises `InterruptedRunError` when a stop was requested."""
        now = self.clock()
        if self.elapsed > 1 and self.may_finish and not self.finishing:
            self.finishing = True
            self.emit(Log("warning", "the time limit is reached: the search ends with the best so far"))
        if now - self._pulsed >= PULSE_INTERVAL:
            self._pulsed = now
            try:
                self._reporter.pulse()
            except InterruptedRunError as error:
                if error.request != KEEP or not self.may_finish:
                    raise
                self.finishing = True

    def emit(self, event: Event) -> None:
        self._reporter.emit(event)

    def due(self, kind: str, interval: float = EMIT_INTERVAL) -> bool:
        """Whether `interval` seconds have passed since this last returned True for the kind; first True."""
        now = self.clock()
        if kind in self._emitted and now - self._emitted[kind] < interval:
            return False
        self._emitted[kind] = now
        return True

    def save(self, make: Callable[[], Checkpoint], *, now: bool = False) -> None:
        """Save a checkpoint if it is time, or `now`.

        Saves that take long are made less often, see `MAX_SAVE_SHARE`.
        """
        start = self.clock()
        if not now and start - self._saved < max(SAVE_INTERVAL, self._save_cost / MAX_SAVE_SHARE):
            return
        self._reporter.save(make())
        self._saved = self.clock()
        self._save_cost = self._saved - start


@dataclass(frozen=True)
class TaskContext:
    """Resources of a piece: the number of threads that it may use, and the pulse that it has to call.

    The pulse raises `InterruptedRunError` when the answer is no longer needed.
    """

    threads: int
    pulse: Callable[[], None]


Task = Callable[[bytes, bytes, TaskContext], bytes]
"""A top-level function, which workers find by its name: (common data, piece, context) → answer.

The answer depends on the first two alone, so a lost piece can be computed again elsewhere.
"""


class Executor(Protocol):
    """Carries out independent pieces of a computation, several at a time."""

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        """Execute a task on all pieces.

        Args:
            task: A function of the common data and a piece.
            common: What all pieces need, as bytes.
            pieces: Each may be executed anywhere, in any order.
            pace: Its pulse is called meanwhile. What that raises ends the work, and so does
                what a piece raises.

        Returns:
            The answers to the pieces, in their order.
        """
        ...


class LocalExecutor:
    """The threads of this process.

    Compiled loops release the interpreter lock, and nothing has to be started.

    `threads`: how many, divided among the pieces; 0: one per processor.
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        n_concurrent = min(self._threads, len(pieces))
        if n_concurrent <= 1:
            context = TaskContext(self._threads, pace.pulse)
            return [task(common, piece, context) for piece in pieces]
        withdrawn = threading.Event()
        context = TaskContext(self._threads // n_concurrent, lambda: _raise_if_withdrawn(withdrawn))
        with ThreadPoolExecutor(n_concurrent) as pool:
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
        done, waiting = wait(waiting, timeout=PULSE_INTERVAL, return_when=FIRST_COMPLETED)
        for answer in done:
            answer.result()
        pace.pulse()


def _raise_if_withdrawn(withdrawn: threading.Event) -> None:
    if withdrawn.is_set():
        raise InterruptedRunError("withdrawal")
