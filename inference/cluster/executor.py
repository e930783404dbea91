"""Pieces of a search carried out by Dask workers; what they do not carry out is done here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from inference.cluster.connection import ClusterError, Crew, SchedulerConnection
from inference.core.events import Log
from inference.core.pacing import PULSE_EVERY, Executor, PacedReporter, Task

if TYPE_CHECKING:
    from distributed import Future

Answer = TypeVar("Answer")

LOOK_EVERY = 1.0
"""Seconds between two looks whether scheduler and workers are still there."""

TRY_EVERY = 60.0
"""Seconds until a scheduler that was away is tried again."""


class DaskExecutor:
    """Workers of the Dask scheduler at `address`; `spare` does what they do not.

    The answers are the same wherever a piece is carried out, so a worker that dies, a scheduler that goes
    away or never was there, and workers of another version cost time and a warning, nothing else.
    """

    def __init__(self, address: str, spare: Executor) -> None:
        self._address = address
        self._spare = spare
        self._connection: SchedulerConnection | None = None
        self._not_before = float("-inf")
        self._known: set[str] = set()
        self._aside = ThreadPoolExecutor(1)  # for what would block the pulse

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        answers: dict[int, bytes] = {}
        if pace.clock() >= self._not_before:
            try:
                self._elsewhere(task, common, pieces, pace, answers)
            except ClusterError as error:
                self._warn(pace, f"{error}; this computer goes on by itself")
                if self._connection is None or not self._connection.alive():
                    self._not_before = pace.clock() + TRY_EVERY
                    self._let_go()
        missing = [k for k in range(len(pieces)) if k not in answers]
        if missing:
            here = self._spare.carry_out(task, common, [pieces[k] for k in missing], pace)
            answers.update(zip(missing, here, strict=True))
        return [answers[k] for k in range(len(pieces))]

    def close(self) -> None:
        """Let go of the cluster."""
        self._let_go()
        self._aside.shutdown(wait=False)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _elsewhere(
        self,
        task: Task,
        common: bytes,
        pieces: Sequence[bytes],
        pace: PacedReporter,
        answers: dict[int, bytes],
    ) -> None:
        """Fill in the answers that workers give. Raises `ClusterError` when there will be no more of them."""
        if self._connection is None:
            self._connection = self._beating(
                lambda: SchedulerConnection(self._address), pace, SchedulerConnection.close
            )
        connection = self._connection
        crew = self._beating(connection.crew, pace)
        self._look_over(crew, pace)
        futures = connection.submit(task, common, pieces, crew)
        try:
            self._collect(connection, crew, futures, pace, answers)
        finally:
            connection.withdraw(futures)

    def _look_over(self, crew: Crew, pace: PacedReporter) -> None:
        for worker, reason in crew.refused.items():
            self._warn(pace, f"the Dask worker {worker} is not used: it {reason}")
        if not crew.fit:
            raise ClusterError(f"the Dask scheduler at {self._address} has no worker that can be used")
        told = f"{len(crew.fit)} Dask worker{'s' if len(crew.fit) > 1 else ''} of {self._address} help"
        if told not in self._known:
            self._known.add(told)
            pace.emit(Log("info", told))

    def _collect(
        self,
        connection: SchedulerConnection,
        crew: Crew,
        futures: Sequence[Future[bytes]],
        pace: PacedReporter,
        answers: dict[int, bytes],
    ) -> None:
        waiting = dict(enumerate(futures))
        news = threading.Event()
        for future in futures:
            future.add_done_callback(lambda _: news.set())
        look = pace.clock() + LOOK_EVERY
        while waiting:
            if news.wait(PULSE_EVERY):
                news.clear()
            pace.pulse()
            for k in [k for k, future in waiting.items() if future.done()]:
                self._take(connection, k, waiting.pop(k), pace, answers)
            if pace.clock() >= look:
                look = pace.clock() + LOOK_EVERY
                if not connection.alive() or not self._beating(lambda: connection.present(crew), pace):
                    raise ClusterError(f"the Dask scheduler at {self._address} or its workers have gone")

    def _take(
        self,
        connection: SchedulerConnection,
        k: int,
        future: Future[bytes],
        pace: PacedReporter,
        answers: dict[int, bytes],
    ) -> None:
        """An answer; or none, where the worker failed and this computer has to see for itself."""
        answer = None
        if future.status == "finished":
            answer = self._beating(lambda: connection.answer(future), pace)
        if answer is not None:
            answers[k] = answer
        elif future.status == "error":
            self._warn(pace, f"a Dask worker failed ({future.exception()!r}); its work is done here")
        else:
            raise ClusterError(f"the Dask scheduler at {self._address} has forgotten what it was asked")

    def _beating(
        self, do: Callable[[], Answer], pace: PacedReporter, undo: Callable[[Answer], None] | None = None
    ) -> Answer:
        """What `do` returns, while the pulse goes on; what comes after an interruption is undone.

        `do` must end by itself: it sees to it that it does not wait for ever.
        """
        future = self._aside.submit(do)
        try:
            while not wait([future], timeout=PULSE_EVERY).done:
                pace.pulse()
        except BaseException:
            if undo is not None:
                future.add_done_callback(lambda late: None if late.exception() else undo(late.result()))
            raise
        return future.result()

    def _warn(self, pace: PacedReporter, text: str) -> None:
        if text not in self._known:
            self._known.add(text)
            pace.emit(Log("warning", text))
