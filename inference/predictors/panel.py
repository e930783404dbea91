"""Several predictors side by side, with cached answers, on the computers of a cluster.

A `Panel` has several predictors answer for the same blocks. `CachedPredictor` has a cache in memory and a
store behind it. `DistributedPredictor` sends blocks out in pieces; answers come back in order. They do not
depend on the worker: a worker whose program has another identity declines, and the local program is used.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from inference.core.pacing import Executor, PacedReporter, Task, TaskContext
from inference.core.protocols import Json
from inference.predictors.kinds import KINDS
from inference.predictors.protocol import Answer, Failure, Predictor, PredictorError

_PULSE_INTERVAL = 0.2  # seconds

MAX_CACHED_ANSWERS = 200_000
"""Answers in memory; about 60 MB."""

_MAX_PIECES = 32
"""Pieces of one question: enough that quick workers do more of them than slow ones."""

_MIN_PIECE_BLOCKS = 8
"""Blocks of a piece: sending one takes as long as a tool needs for a few. Fewer are not sent at all, because
a user may wait for them, and noticing that a cluster is unreachable takes seconds.
"""

_MAX_TOOLS = 16
"""Predictors that a worker keeps open."""

Answers = tuple[Answer, ...]


@runtime_checkable
class Flushable(Protocol):
    """A predictor with cached answers that can be written to its store."""

    def flush(self) -> None:
        """Write the answers so far to the store."""
        ...


class Panel:
    """Predictors, each with a thread of its own, that answer for the same blocks.

    Args:
        predictors: Predictors in the order of the answers; the panel does not close them.
        pulse: Called several times per second while they work; what it raises ends the wait.

    Attributes:
        judged: Number of blocks that all predictors have answered.
        failures: {(number of the predictor, from 1; failure): count}.
    """

    def __init__(self, predictors: Sequence[Predictor], pulse: Callable[[], None] = lambda: None) -> None:
        self.predictors = tuple(predictors)
        self._pulse = pulse
        self._threads = [ThreadPoolExecutor(1, f"predictor-{n}") for n, _ in enumerate(predictors, 1)]
        self.judged = 0
        self.failures: Counter[tuple[int, str]] = Counter()

    def ask(self, codes: Sequence[bytes]) -> Callable[[], list[Answers]]:
        """Start asking; the returned function waits for the answers of each block, in the order of `codes`.

        That function raises `PredictorError` where a predictor cannot work at all, and what `pulse` raises.
        """
        distinct = list(dict.fromkeys(codes))
        futures = [
            thread.submit(predictor.predict, distinct)
            for thread, predictor in zip(self._threads, self.predictors, strict=True)
        ]
        return lambda: self._answers(codes, distinct, futures)

    def _answers(
        self, codes: Sequence[bytes], distinct: Sequence[bytes], futures: Sequence[Future[list[Answer]]]
    ) -> list[Answers]:
        while wait(futures, timeout=_PULSE_INTERVAL).not_done:
            self._pulse()
        self._pulse()
        columns = [future.result() for future in futures]
        by_code = dict(zip(distinct, zip(*columns, strict=True), strict=True))
        self.judged += len(distinct)
        for answers in by_code.values():
            for number, answer in enumerate(answers, start=1):
                if answer.failure is not None:
                    self.failures[number, answer.failure.value] += 1
        return [by_code[code] for code in codes]

    def flush(self) -> None:
        """Have the predictors with cached answers write them to their stores."""
        for predictor in self.predictors:
            if isinstance(predictor, Flushable):
                predictor.flush()

    def close(self) -> None:
        """End the threads; questions that have not been started are dropped."""
        for thread in self._threads:
            thread.shutdown(wait=False, cancel_futures=True)


class AnswerStore(Protocol):
    """Stores the answers of one predictor, implemented over the database."""

    def known(self, blocks: Sequence[bytes]) -> Mapping[bytes, Answer]: ...

    def remember(self, answers: Mapping[bytes, Answer]) -> None:
        """Store new answers; storing one twice changes nothing."""
        ...

    def flush(self) -> None:
        """Write answers that `remember` has not written yet."""
        ...


class CachedPredictor:
    """Asks `predictor` for blocks that are neither in memory nor in `store`. Threads may share it.

    Args:
        max_answers: Largest number of answers in memory.
        question_of: The part of a block that the predictor is asked about, such as a loop's body alone.
    """

    def __init__(
        self,
        predictor: Predictor,
        store: AnswerStore | None = None,
        max_answers: int = MAX_CACHED_ANSWERS,
        question_of: Callable[[bytes], bytes] = lambda block: block,
    ) -> None:
        self._predictor = predictor
        self._question_of = question_of
        self._store = store
        self._max_answers = max_answers
        self._memory: dict[bytes, Answer] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._predictor.name

    @property
    def identity(self) -> Json:
        return self._predictor.identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """See `inference.predictors.protocol.Predictor`; a repeated block is asked once."""
        return self._answers([self._question_of(block) for block in blocks])

    def _answers(self, blocks: Sequence[bytes]) -> list[Answer]:
        by_block = {block: self._memory.get(block) for block in blocks}
        lacking = [block for block, answer in by_block.items() if answer is None]
        if lacking and self._store is not None:
            stored = self._store.known(lacking)
            self._keep(stored)
            by_block.update(stored)
            lacking = [block for block in lacking if block not in stored]
        if lacking:
            new = dict(zip(lacking, self._predictor.predict(lacking), strict=True))
            self._keep(new)
            by_block.update(new)
            if self._store is not None:
                self._store.remember(new)
        return [answer for block in blocks if (answer := by_block[block]) is not None]

    def flush(self) -> None:
        """Have the store write its pending answers."""
        if self._store is not None:
            self._store.flush()

    def close(self) -> None:
        """Close the predictor and write pending answers."""
        try:
            self._predictor.close()
        finally:
            self.flush()

    def _keep(self, answers: Mapping[bytes, Answer]) -> None:
        """Cache answers in memory, where the oldest are dropped."""
        with self._lock:
            self._memory.update(answers)
            surplus = len(self._memory) - self._max_answers
            if surplus > 0:
                for block in list(islice(self._memory, surplus + self._max_answers // 10)):
                    del self._memory[block]


class LocalPredictorExecutor:
    """An executor for `predict_piece` in which this computer's own predictor answers."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        """See `Executor`: all pieces are one question."""
        pace.pulse()
        questions = [_blocks(piece) for piece in pieces]
        answers = iter(self._predictor.predict([block for blocks in questions for block in blocks]))
        return [_encode([next(answers) for _ in blocks]) for blocks in questions]


class DistributedPredictor:
    """`predictor`, made by the kind of this name from `options`, asked in `executor` at the pace of a run.

    `close` releases its resources.
    """

    def __init__(
        self,
        predictor: Predictor,
        kind: str,
        options: Mapping[str, Any],
        executor: Executor,
        pace: PacedReporter,
        close: Callable[[], None],
    ) -> None:
        self._predictor = predictor
        self._executor = executor
        self._pace = pace
        self._close = close
        question = {"kind": kind, "options": dict(options), "identity": predictor.identity}
        self._common = json.dumps(question, sort_keys=True).encode()

    @property
    def name(self) -> str:
        return self._predictor.name

    @property
    def identity(self) -> Json:
        """That of the predictor: the worker changes nothing."""
        return self._predictor.identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """See `inference.predictors.protocol.Predictor`; raises what the pulse of the pace does."""
        if len(blocks) < _MIN_PIECE_BLOCKS:
            return self._predictor.predict(blocks)
        size = max(_MIN_PIECE_BLOCKS, -(-len(blocks) // _MAX_PIECES))
        pieces = [_question(blocks[k : k + size]) for k in range(0, len(blocks), size)]
        replies = self._executor.carry_out(predict_piece, self._common, pieces, self._pace)
        return [answer for piece in replies for answer in _answers(piece)]

    def close(self) -> None:
        self._close()


def predict_piece(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """The answers to a piece, on a worker. Raises `PredictorError` where its program is a different one."""
    context.pulse()
    return _encode(_tool(common, context.threads).predict(_blocks(piece)))


@lru_cache(maxsize=_MAX_TOOLS)
def _tool(common: bytes, threads: int) -> Predictor:
    question = json.loads(common)
    kind = KINDS[question["kind"]]
    options = question["options"]
    if "processes" in kind.settings.__dataclass_fields__:
        options = {**options, "processes": threads}
    tool = kind.predictor(options)
    if tool.identity != question["identity"]:
        tool.close()
        raise PredictorError(f"its {tool.name} is another one: {tool.identity}, not {question['identity']}")
    return tool


def _question(blocks: Sequence[bytes]) -> bytes:
    return json.dumps([block.hex() for block in blocks]).encode()


def _blocks(piece: bytes) -> list[bytes]:
    return [bytes.fromhex(block) for block in json.loads(piece)]


def _encode(answers: Sequence[Answer]) -> bytes:
    return json.dumps([[answer.cycles, answer.failure, answer.detail] for answer in answers]).encode()


def _answers(piece: bytes) -> list[Answer]:
    return [
        Answer(cycles, Failure(failure) if failure else None, detail)
        for cycles, failure, detail in json.loads(piece)
    ]
