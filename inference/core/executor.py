"""Who carries out pieces of a computation that do not need each other: threads here, or workers elsewhere.

A piece is bytes, and so is its answer (`checkpoint.encode`): it does not matter where it is worked on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from inference.core.errors import InterruptedRunError
from inference.core.pacing import PULSE_EVERY, PacedReporter


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
