"""An executor that computes parts of a search on Dask workers, and the remaining ones on this computer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from inference.cluster.connection import ClusterError, Crew, SchedulerConnection
from inference.core.events import Log
from inference.core.pacing import PULSE_INTERVAL, Executor, PacedReporter, Task

if TYPE_CHECKING:
    from distributed import Future

Answer = TypeVar("Answer")

POLL_INTERVAL = 1.0
"""Seconds between two checks that scheduler and workers are still connected."""

RETRY_INTERVAL = 60.0
"""Seconds until an unreachable scheduler is tried again."""


class DaskExecutor:
    """Executes tasks on workers of a Dask scheduler, and those that fail there on `fallback`.

    `address`: that of the scheduler.

    Results do not depend on where a task is executed. So failing workers, an unreachable scheduler, and
    workers of another version cost time and cause a warning, but no error.
    """

    def __init__(self, address: str, fallback: Executor) -> None:
        self._address = address
        self._fallback = fallback
        self._connection: SchedulerConnection | None = None
        self._not_before = float("-inf")
        self._reported: set[str] = set()
        self._background = ThreadPoolExecutor(1)  # for calls that would block the pulse

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        answers: dict[int, bytes] = {}
        if pace.clock() >= self._not_before:
            try:
                self._compute_on_cluster(task, common, pieces, pace, answers)
            except ClusterError as error:
                self._warn(pace, f"{error}; this computer computes alone")
                if self._connection is None or not self._connection.alive():
                    self._not_before = pace.clock() + RETRY_INTERVAL
                    self._disconnect()
        missing = [k for k in range(len(pieces)) if k not in answers]
        if missing:
            here = self._fallback.carry_out(task, common, [pieces[k] for k in missing], pace)
            answers.update(zip(missing, here, strict=True))
        return [answers[k] for k in range(len(pieces))]

    def close(self) -> None:
        """Disconnect from the cluster, and end the background thread."""
        self._disconnect()
        self._background.shutdown(wait=False)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _compute_on_cluster(
        self,
        task: Task,
        common: bytes,
        pieces: Sequence[bytes],
        pace: PacedReporter,
        answers: dict[int, bytes],
    ) -> None:
        """Add the workers' results to `answers`, by number of the piece.

        Raises:
            ClusterError: Further results will not come.
        """
        if self._connection is None:
            self._connection = self._with_pulse(
                lambda: SchedulerConnection(self._address), pace, SchedulerConnection.close
            )
        connection = self._connection
        crew = self._with_pulse(connection.crew, pace)
        self._check_crew(crew, pace)
        futures = connection.submit(task, common, pieces, crew)
        try:
            self._collect(connection, crew, futures, pace, answers)
        finally:
            connection.withdraw(futures)

    def _check_crew(self, crew: Crew, pace: PacedReporter) -> None:
        for worker, reason in crew.refused.items():
            self._warn(pace, f"the Dask worker {worker} is not used: it {reason}")
        if not crew.fit:
            raise ClusterError(f"the Dask scheduler at {self._address} has no worker that can be used")
        text = f"{len(crew.fit)} Dask worker{'s' if len(crew.fit) > 1 else ''} of {self._address} help"
        if text not in self._reported:
            self._reported.add(text)
            pace.emit(Log("info", text))

    def _collect(
        self,
        connection: SchedulerConnection,
        crew: Crew,
        futures: Sequence[Future[bytes]],
        pace: PacedReporter,
        answers: dict[int, bytes],
    ) -> None:
        """Record answers as they come, and give up once the scheduler or its workers have gone."""
        waiting = dict(enumerate(futures))
        news = threading.Event()
        for future in futures:
            future.add_done_callback(lambda _: news.set())
        look = pace.clock() + POLL_INTERVAL
        while waiting:
            if news.wait(PULSE_INTERVAL):
                news.clear()
            pace.pulse()
            for k in [k for k, future in waiting.items() if future.done()]:
                self._record_answer(connection, k, waiting.pop(k), pace, answers)
            if pace.clock() >= look:
                look = pace.clock() + POLL_INTERVAL
                if not connection.alive() or not self._with_pulse(lambda: connection.present(crew), pace):
                    raise ClusterError(f"the Dask scheduler at {self._address} or its workers have gone")

    def _record_answer(
        self,
        connection: SchedulerConnection,
        k: int,
        future: Future[bytes],
        pace: PacedReporter,
        answers: dict[int, bytes],
    ) -> None:
        """Add a worker's result to `answers`; without one, this computer computes the piece later.

        Raises:
            ClusterError: The scheduler has lost the task.
        """
        answer = None
        if future.status == "finished":
            answer = self._with_pulse(lambda: connection.answer(future), pace)
        if answer is not None:
            answers[k] = answer
        elif future.status == "error":
            self._warn(pace, f"a Dask worker failed ({future.exception()!r}); its work is done here")
        else:
            raise ClusterError(f"the Dask scheduler at {self._address} has lost a task")

    def _with_pulse(
        self, do: Callable[[], Answer], pace: PacedReporter, undo: Callable[[Answer], None] | None = None
    ) -> Answer:
        """Call `do` in the background while the pulse continues; returns its result.

        `do` must have a time limit of its own. If the pulse interrupts the wait, `undo` gets its late result.
        """
        future = self._background.submit(do)
        try:
            while not wait([future], timeout=PULSE_INTERVAL).done:
                pace.pulse()
        except BaseException:
            if undo is not None:
                future.add_done_callback(lambda late: None if late.exception() else undo(late.result()))
            raise
        return future.result()

    def _warn(self, pace: PacedReporter, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            pace.emit(Log("warning", text))
