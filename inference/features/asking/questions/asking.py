"""Several predictors asked for the same blocks, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field

from django.db import connection

from inference.core.errors import MeasuringError
from inference.features.asking.predictors.query import opened
from inference.models import Predictor
from inference.predictors import machine
from inference.predictors.protocol import Answer, PredictorError
from inference.predictors.protocol import Predictor as Tool
from inference.runs.kinds import Task

SIDE_BY_SIDE = 6
"""Predictors that work at a time; machines do not count, most of the time they are waited for."""

_PULSE_EVERY = 0.2  # seconds


@dataclass(frozen=True)
class PredictorColumn:
    """What one predictor says: an answer per block, or why it says nothing at all."""

    predictor: Predictor
    answers: list[Answer] = field(default_factory=list)
    error: str = ""


def ask(
    predictors: Sequence[Predictor],
    blocks: Sequence[bytes],
    *,
    isa: str,
    remembering: bool = True,
    task: Task | None = None,
) -> Iterator[PredictorColumn]:
    """A column for each predictor, in the order in which they are done.

    `isa`: the instruction set of the blocks. `task`: the run that it is for, which is heard meanwhile. That a
    predictor cannot work is said in its column; whatever else it raises is a fault of the program, and is
    raised here with its trace.
    """
    machines = sum(row.kind == machine.KIND for row in predictors)
    pool = ThreadPoolExecutor(SIDE_BY_SIDE + machines, "asking")
    working: dict[Future[list[Answer]], Predictor] = {}
    try:
        for row in predictors:
            try:
                tool = opened(row, task, isa=isa, remembering=remembering)
            except PredictorError as error:
                yield PredictorColumn(row, error=str(error))
            else:
                working[pool.submit(_answers, tool, blocks)] = row
        while working:
            done, _ = wait(working, timeout=_PULSE_EVERY, return_when=FIRST_COMPLETED)
            if task is not None:
                task.reporter.pulse()
            for future in done:
                yield _column(working.pop(future), future)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _column(row: Predictor, future: Future[list[Answer]]) -> PredictorColumn:
    try:
        return PredictorColumn(row, future.result())
    except (PredictorError, MeasuringError) as error:
        return PredictorColumn(row, error=str(error))


def _answers(tool: Tool, blocks: Sequence[bytes]) -> list[Answer]:
    """In a thread of its own, with a connection of its own."""
    try:
        with closing(tool):
            return tool.predict(blocks)
    finally:
        connection.close()
