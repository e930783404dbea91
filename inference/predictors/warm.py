"""Several workers of one program, kept running, that answer side by side."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from inference.containment import FileAccess, Limits, LineWorker, WorkerError, WorkerSlowError
from inference.predictors.protocol import Answer, Failure


class Workers:
    """`count` processes of a command that answers one line for each line; see `LineWorker`.

    Whatever a question makes of a worker stays with that worker: it is started anew for the next one.
    """

    def __init__(
        self,
        command: Sequence[str],
        count: int,
        limits: Limits,
        *,
        first_seconds: float,
        environment: Mapping[str, str] | None = None,
        access: FileAccess | None = None,
        greeting: bytes | None = None,
    ) -> None:
        self._idle: queue.SimpleQueue[LineWorker] = queue.SimpleQueue()
        self._workers = [
            LineWorker(
                command,
                limits,
                first_seconds=first_seconds,
                environment=environment,
                access=access,
                greeting=greeting,
            )
            for _ in range(count)
        ]
        for worker in self._workers:
            self._idle.put(worker)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="workers")

    def answers(self, lines: Sequence[bytes | Answer], read: Callable[[bytes], Answer]) -> list[Answer]:
        """An answer for each line, as `read` understands it; what is an answer already stays.

        Raises `CannotStartError`.
        """
        return list(
            self._pool.map(lambda line: line if isinstance(line, Answer) else self._one(line, read), lines)
        )

    def greeted(self, line: bytes) -> bytes:
        """What one worker says to a line, whatever it may be. Raises `WorkerError`, `CannotStartError`."""
        worker = self._idle.get()
        try:
            return worker.ask(line)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _one(self, line: bytes, read: Callable[[bytes], Answer]) -> Answer:
        worker = self._idle.get()
        try:
            try:
                answer = worker.ask(line)
            except WorkerSlowError:
                raise
            except WorkerError:  # perhaps what came before was to blame: once more in a fresh process
                answer = worker.ask(line)
        except WorkerSlowError as error:
            return Answer(failure=Failure.TIMEOUT, detail=str(error))
        except WorkerError as error:
            return Answer(failure=Failure.CRASH, detail=str(error))
        finally:
            self._idle.put(worker)
        return read(answer)
