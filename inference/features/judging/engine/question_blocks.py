"""Predictors of blocks asked about items: about blocks themselves, or about experiments made into blocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

import numpy as np

from inference.core.events import Progress
from inference.core.judging.sheet import Answers
from inference.core.tables import Int64s
from inference.features.asking.block_sets.columns import answers_of
from inference.features.asking.predictors.query import opened
from inference.features.judging.engine.experiment_blocks import ExperimentBlock
from inference.models import Predictor
from inference.predictors.panel import Panel
from inference.runs.kinds import Task

NO_CODE = "there is no code for it"
NOT_ASKED = "not among those asked for"
NOTHING = "nothing is said at all"


def tell_progress(task: Task, phase: str, done: int, total: int, unit: str, began: float) -> None:
    """How far a stage is that began at a moment of `time.monotonic`; raises what a pulse raises."""
    rate = done / max(time.monotonic() - began, 1e-9)
    eta = (total - done) / rate if rate else None
    task.reporter.emit(Progress(phase, done, total, rate, unit, eta))
    task.reporter.pulse()


def sampled(size: int, most: int, seed: int) -> Int64s:
    """At most so many of `size` items, ascending: int64[m]; the same for the same seed."""
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.default_rng(seed).choice(size, most, replace=False))


class QuestionBlocks:
    """The blocks that every predictor is asked about, for the items `at`: int64[m] of `size` items.

    `isa` is the instruction set of their code.
    """

    def __init__(
        self, task: Task, size: int, at: Int64s, blocks: Sequence[ExperimentBlock], isa: str
    ) -> None:
        self._task = task
        self._size = size
        self.at = at
        self._blocks = blocks
        self._isa = isa
        self.places = [place for place, block in zip(at.tolist(), blocks, strict=True) if block.copies]
        self.codes = [block.code for block in blocks if block.copies]

    def ask(self, row: Predictor) -> Answers:
        """What a predictor says; raises `PredictorError` where it cannot work here."""
        with (
            closing(opened(row, self._task, isa=self._isa)) as tool,
            closing(Panel([tool], self._task.reporter.pulse)) as panel,
        ):
            answers = iter(answers_of(self._task, panel, self.codes, row.name)[0])
        cycles = np.full(self._size, np.nan)
        why = [NOT_ASKED] * self._size
        for place, block in zip(self.at.tolist(), self._blocks, strict=True):
            answer = next(answers) if block.copies else None
            if answer is None:
                why[place] = NO_CODE
            elif answer.cycles is None:
                assert answer.failure is not None, "an answer is a number or a failure"
                why[place] = answer.failure.value
            else:
                cycles[place] = answer.cycles / block.copies
        return Answers.of(cycles, why)

    def nothing(self) -> Answers:
        """Of a predictor that cannot work here."""
        return Answers.of(np.full(self._size, np.nan), NOTHING)
