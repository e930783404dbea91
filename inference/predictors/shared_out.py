"""A program that is asked on the computers of a cluster: blocks go out in pieces, answers come back in order.

What comes back does not depend on who answers: a worker whose program differs from ours in what makes its
identity declines, and then ours is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from inference.core.executor import Executor, Task, TaskContext
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.predictors.kinds import KINDS
from inference.predictors.protocol import Answer, Failure, Predictor, PredictorError

_PIECES = 32
"""Of one question at most: enough that quick workers do more of it than slow ones."""
_FEW = 8
"""Blocks of a piece at least: handing one out takes as long as a tool needs for a few. Fewer than these are
not handed out at all: somebody may wait for them, and a cluster that is away takes seconds to be found so."""
_TOOLS = 16
"""Predictors that a worker keeps ready."""


class AskedHere:
    """An executor for `ask_piece` in which this computer's own predictor answers."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        """See `Executor`: all pieces are one question."""
        pace.pulse()
        questions = [_blocks(piece) for piece in pieces]
        answers = iter(self._predictor.predict([block for blocks in questions for block in blocks]))
        return [_written([next(answers) for _ in blocks]) for blocks in questions]


class SharedOut:
    """`predictor`, made by the kind of this name from `options`, asked in `executor` at the pace of a run.

    `close` ends whatever belongs to it.
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
        """That of the predictor: who answers changes nothing."""
        return self._predictor.identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """See `inference.predictors.protocol.Predictor`; raises what the pulse of the pace does."""
        if len(blocks) < _FEW:
            return self._predictor.predict(blocks)
        size = max(_FEW, -(-len(blocks) // _PIECES))
        pieces = [_question(blocks[k : k + size]) for k in range(0, len(blocks), size)]
        told = self._executor.carry_out(ask_piece, self._common, pieces, self._pace)
        return [answer for piece in told for answer in _answers(piece)]

    def close(self) -> None:
        self._close()


def ask_piece(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """The answers to a piece, on a worker's context. Raises `PredictorError` where it has another program."""
    context.pulse()
    return _written(_tool(common, context.threads).predict(_blocks(piece)))


@lru_cache(maxsize=_TOOLS)
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


def _written(answers: Sequence[Answer]) -> bytes:
    return json.dumps([[one.cycles, one.failure, one.detail] for one in answers]).encode()


def _answers(piece: bytes) -> list[Answer]:
    return [
        Answer(cycles, Failure(failure) if failure else None, detail)
        for cycles, failure, detail in json.loads(piece)
    ]
