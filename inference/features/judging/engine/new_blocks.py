"""Blocks that become a basic-block set of their own, with the answers of all sources as its columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from inference.core.arrays import Int64s
from inference.core.judging.sheet import ItemKind, Items
from inference.features.judging.engine.answered_columns import ComparisonColumn, keep_columns
from inference.features.judging.engine.block_answers import BlockAnswers, block_table
from inference.features.judging.engine.question_blocks import sampled
from inference.features.judging.engine.request import JudgeConfig
from inference.isa.blocks import mnemonics_of
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.runs.kinds import Task
from inference.storage.block_sets import BlockToStore, insert_blocks
from inference.storage.instruction_sets import code_isa
from inference.storage.names import NAME_LIMIT, free_name


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
