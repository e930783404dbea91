"""The blocks of a basic-block set as items, and what its columns say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from inference.core.arrays import Floats
from inference.core.experiment import Experiment
from inference.core.judging.sheet import Answers, Items
from inference.core.tables import ExperimentTable
from inference.features.asking.block_sets.columns import codes_of
from inference.features.judging.engine.answered_columns import ComparisonColumn
from inference.features.judging.engine.experiment_blocks import ExperimentBlock
from inference.features.judging.engine.question_blocks import QuestionBlocks, sampled
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import AnswerSource
from inference.isa.blocks import BlockError, block_of_bytes
from inference.models import BasicBlockSet, BlockColumn, Prediction, Run
from inference.runs.kinds import Task
from inference.storage.block_sets import ROWS, block_items
from inference.storage.instruction_sets import code_isa

UNKNOWN = "(unknown instruction)"
"""Stands in the table for instructions that have no scheme."""
NOTHING_THERE = "the column has nothing for it"


class BlockAnswers:
    """A basic-block set; nothing of it is measured but by its columns."""

    def __init__(self, task: Task, row: BasicBlockSet, config: JudgeConfig) -> None:
        self.row = row
        self._task = task
        self._config = config
        self.codes: list[bytes] = []
        self.read = 0

    def read_all(self) -> None:
        self.codes = codes_of(self.row)
        self.read = len(self.codes)

    @cached_property
    def items(self) -> Items:
        """The blocks, with their schemes."""
        isa = code_isa(self.row.isa)
        table = block_table(self.codes, isa, self._task)
        return block_items(self.row, read_table=lambda: table)

    @property
    def measured(self) -> Floats:
        """Nothing: what others are held against is one of the columns."""
        return np.full(self.read, np.nan)

    def direct(self, source: AnswerSource) -> Answers | None:
        """What a column says; None for what has to be asked."""
        return column_answers(source.row, self.read) if isinstance(source.row, BlockColumn) else None

    def question_blocks(self) -> QuestionBlocks:
        """The blocks, or a sample of many."""
        at = sampled(self.read, self._config.most, self._config.seed)
        blocks = [ExperimentBlock(self.codes[place], 1) for place in at.tolist()]
        return QuestionBlocks(self._task, self.read, at, blocks, code_isa(self.row.isa))

    def keep(self, run: Run, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
        """Called in the transaction that stores the comparison: columns of the set that now hold the answers.

        None here: a comparison leaves its set as it is.
        """
        return []


def column_answers(column: BlockColumn, size: int) -> Answers:
    """What a stored column says of the blocks of its set, with the failures as reasons."""
    cycles, why = np.full(size, np.nan), [NOTHING_THERE] * size
    rows = Prediction.objects.filter(column=column)
    numbers = rows.values_list("block__position", "cycles", "failure")
    for position, value, failure in numbers.iterator(ROWS):
        if value is None:
            why[position] = failure
        else:
            cycles[position] = value
    return Answers.of(cycles, why)


def block_table(codes: Sequence[bytes], isa: str, task: Task) -> ExperimentTable:
    """The schemes of blocks; `UNKNOWN` stands for instructions without one and for broken code."""
    mixes = []
    for number, code in enumerate(codes):
        mixes.append(Experiment.of(_mix(code, isa)))
        if number % ROWS == 0:
            task.reporter.pulse()
    return ExperimentTable.from_experiments(mixes)


def _mix(code: bytes, isa: str) -> Counter[str]:
    try:
        block = block_of_bytes(code, isa)
    except BlockError:
        return Counter({UNKNOWN: 1})
    mix = Counter(dict(block.terms))
    if unknown := len(block.instructions) - mix.total():
        mix[UNKNOWN] += unknown
    return mix
