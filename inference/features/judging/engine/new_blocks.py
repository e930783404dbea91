"""Blocks that become a basic-block set of their own, with the answers of all sources as its columns.

On a machine they are measured in rounds, of which the median counts, and once more: moments that are
minutes apart, since on a shared computer one moment may be disturbed for all that it takes. The last
measurement shows how well anybody could predict the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from statistics import median

import numpy as np

from inference.core.judging.sheet import ItemKind, Items
from inference.core.protocols import Checkpoint
from inference.core.tables import Int64s
from inference.features.asking.predictors.kinds import kind_of, measured
from inference.features.judging.engine.item_answers import (
    BlockAnswers,
    block_table,
    keep_columns,
    sampled,
    tell_progress,
)
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.isa.blocks import mnemonics_of
from inference.models import BasicBlockSet, BlockColumn, Predictor, Run
from inference.predictors.answer_arrays import column_of
from inference.predictors.machine import MachineSettings
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Task
from inference.storage.block_rows import BlockToStore, insert_blocks
from inference.storage.instruction_sets import code_isa
from inference.storage.names import NAME_LIMIT, free_name

_PIECE = 96
"""Blocks measured between two signs of life."""


class NewBlocks(BlockAnswers):
    """Blocks of a set that is stored with the comparison; `row` is not in the database before."""

    def __init__(
        self, task: Task, row: BasicBlockSet, config: JudgeConfig, blocks: Sequence[BlockToStore]
    ) -> None:
        super().__init__(task, row, config)
        self._blocks = blocks
        row.size = len(blocks)
        row.origin = BasicBlockSet.Origin.RUN

    def read_all(self) -> None:
        self.codes = [block.code for block in self._blocks]
        self.read = len(self.codes)

    @cached_property
    def items(self) -> Items:
        """The blocks with their schemes; their numbers are known when they are stored."""
        table = block_table(self.codes, code_isa(self.row.isa), self._task)
        weights = np.array([block.weight or 0.0 for block in self._blocks])
        return Items(
            ItemKind.BLOCKS,
            np.arange(self.read),
            np.array([len(block.mnemonics) for block in self._blocks], dtype=np.int64),
            weights if weights.any() else None,
            read_table=lambda: table,
        )

    def keep(self, run: Run, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
        self.row.run = run
        self.row.name = free_name(BasicBlockSet, self.row.name[: NAME_LIMIT - 10])
        self.row.save()
        insert_blocks(self.row, self._blocks)
        return keep_columns(self.row, columns)

    def ids(self) -> Int64s:
        """The numbers of the blocks that `keep` has stored: int64[n]."""
        return np.array(self.row.blocks.order_by("position").values_list("pk", flat=True), dtype=np.int64)


def drawn_blocks(task: Task, source: BasicBlockSet, config: JudgeConfig) -> NewBlocks:
    """At most so many blocks of a set as a comparison asks for, in their order."""
    places = set(sampled(source.size, config.most, config.seed).tolist())
    isa = code_isa(source.isa)
    blocks = [
        BlockToStore(code, mnemonics_of(code, isa), block.text, block.weight, block.origin)
        for block in source.blocks.order_by("position").iterator()
        if block.position in places
        for code in [bytes(block.code)]
    ]
    name = f"{source.name}: {len(blocks):,} blocks measured"
    row = BasicBlockSet(name=name, isa=source.isa, source=f"measured by {task.run.name}"[:300])
    return NewBlocks(task, row, config, blocks)


def measured_in_rounds(
    task: Task, source: AnswerSource, codes: Sequence[bytes], rounds: int
) -> tuple[ComparisonColumn, ComparisonColumn]:
    """The median of all rounds, and one measurement more. Raises `JobError` where nothing can be measured."""
    assert isinstance(source.row, Predictor), "a machine that measures was stored as a predictor"
    settings = kind_of(source.row.kind).settings_of(source.row.options)
    assert isinstance(settings, MachineSettings)
    repeats, began = [], time.monotonic()
    total = (rounds + 1) * len(codes)
    try:
        for repeat in range(rounds + 1):
            answers: list[Answer] = []
            with closing(measured(settings, task, repeat)) as machine:
                for begin in range(0, len(codes), _PIECE):
                    answers += machine.predict(codes[begin : begin + _PIECE])
                    task.reporter.save(task.checkpoint or Checkpoint({}))  # it tells that the run gets on
                    done = repeat * len(codes) + len(answers)
                    tell_progress(task, "measure", done, total, "blocks", began)
            repeats.append(answers)
    except PredictorError as error:
        raise JobError(str(error)) from error
    once, again = medians(repeats[:-1]), repeats[-1]
    if not any(answer.cycles for answer in once):
        complaint = next((answer.detail or str(answer.failure) for answer in once), "there is none")
        raise JobError(f"none of the {len(codes)} blocks could be measured: {complaint}")
    repeated = AnswerSource(SourceKind.PREDICTOR, f"{settings.machine}, measured again", source.row)
    return ComparisonColumn(source, column_of(once)), ComparisonColumn(repeated, column_of(again))


def medians(rounds: Sequence[Sequence[Answer]]) -> list[Answer]:
    """Of each block the median of what the rounds measured, or its first failure where nothing was."""
    answers = []
    for of_block in zip(*rounds, strict=True):
        cycles = [answer.cycles for answer in of_block if answer.cycles is not None]
        answers.append(Answer(cycles=median(cycles)) if cycles else of_block[0])
    return answers
