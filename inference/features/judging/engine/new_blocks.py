"""Comparisons whose blocks become a basic-block set, with the answers of all sources as its columns.

A machine measures the blocks in several rounds, whose median counts, and once more. The rounds of a block are
minutes apart, since a shared computer may be disturbed for the length of a measurement. The last round shows
how close a prediction can come.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from statistics import median

import numpy as np

from inference.core.judging.sheet import ItemKind, Items
from inference.core.protocols import Checkpoint
from inference.core.tables import Int64s
from inference.features.asking.predictors.kinds import kind_of, machine_in_run
from inference.features.judging.engine.item_answers import (
    BlockSetAnswers,
    block_table,
    report_progress,
    sample_places,
    store_answer_columns,
)
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.formats.block_files import ProgramLoops
from inference.isa.blocks import mnemonics_of
from inference.models import ISA, BasicBlockSet, BlockColumn, Predictor, Run
from inference.predictors.answer_arrays import column_of
from inference.predictors.machine import MachineSettings
from inference.predictors.protocol import Answer, PredictorError
from inference.runs.errors import JobError
from inference.runs.kinds import Task
from inference.storage.block_sets import BlockToStore, insert_blocks
from inference.storage.instruction_sets import code_isa
from inference.storage.names import NAME_LIMIT, free_name

_PIECE_BLOCKS = 96
"""Blocks measured between two checkpoints, which count as progress of the run."""


class NewBlocks(BlockSetAnswers):
    """The blocks of a set that is stored together with the comparison; `row` is unsaved until then."""

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
        """The blocks with their schemes; their ids are places until they are stored."""
        table = block_table(self.codes, code_isa(self.row.isa), self._task)
        weights = np.array([block.weight or 0.0 for block in self._blocks])
        return Items(
            ItemKind.BLOCKS,
            np.arange(self.read),
            np.array([len(block.mnemonics) for block in self._blocks], dtype=np.int64),
            weights if weights.any() else None,
            read_table=lambda: table,
        )

    def store_columns(self, run: Run, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
        self.row.run = run
        self.row.name = free_name(BasicBlockSet, self.row.name[: NAME_LIMIT - 10])
        self.row.save()
        insert_blocks(self.row, self._blocks)
        return store_answer_columns(self.row, columns)

    def ids(self) -> Int64s:
        """The row ids of the blocks that `store_columns` has stored: int64[n]."""
        return np.array(self.row.blocks.order_by("position").values_list("pk", flat=True), dtype=np.int64)


def sampled_blocks(task: Task, source: BasicBlockSet, config: JudgeConfig) -> NewBlocks:
    """A sample of at most `config.most` blocks of a set, in their order."""
    places = set(sample_places(source.size, config.most, config.seed).tolist())
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


def blocks_of_loops(
    task: Task, loops: ProgramLoops, file_name: str, isa: ISA, config: JudgeConfig
) -> NewBlocks:
    """A sample of at most `config.most` different loops of a program, each weighted by all of its copies."""
    weights: dict[bytes, float] = defaultdict(float)
    for loop in loops.loops:
        weights[loop.code] += loop.weight
    first = {loop.code: loop for loop in reversed(loops.loops)}
    codes = list(weights)
    blocks = [
        BlockToStore(
            codes[place],
            mnemonics_of(codes[place], code_isa(isa)),
            weight=weights[codes[place]],
            origin=first[codes[place]].origin(file_name),
        )
        for place in sample_places(len(codes), config.most, config.seed).tolist()
    ]
    row = BasicBlockSet(name=f"{file_name}: {len(blocks):,} loops measured", isa=isa)
    row.source = f"{file_name}, {loops.kind}"[:300]
    return NewBlocks(task, row, config, blocks)


def measure_in_rounds(
    task: Task, source: AnswerSource, codes: Sequence[bytes], rounds: int
) -> tuple[ComparisonColumn, ComparisonColumn]:
    """(median of all rounds, one more measurement). Raises `JobError` if no block can be measured."""
    assert isinstance(source.row, Predictor), "a machine that measures was stored as a predictor"
    settings = kind_of(source.row.kind).settings_of(source.row.options)
    assert isinstance(settings, MachineSettings)
    repeats, began = [], time.monotonic()
    total = (rounds + 1) * len(codes)
    try:
        for repeat in range(rounds + 1):
            answers: list[Answer] = []
            with closing(machine_in_run(settings, task, repeat)) as machine:
                for begin in range(0, len(codes), _PIECE_BLOCKS):
                    answers += machine.predict(codes[begin : begin + _PIECE_BLOCKS])
                    task.reporter.save(
                        task.checkpoint or Checkpoint({})
                    )  # a checkpoint counts as progress of the run
                    done = repeat * len(codes) + len(answers)
                    report_progress(task, "measure", done, total, "blocks", began)
            repeats.append(answers)
    except PredictorError as error:
        raise JobError(str(error)) from error
    median_round, last_round = median_answers(repeats[:-1]), repeats[-1]
    if not any(answer.cycles for answer in median_round):
        problem = next((answer.detail or str(answer.failure) for answer in median_round), "there is none")
        raise JobError(f"none of the {len(codes)} blocks could be measured: {problem}")
    repeated = AnswerSource(SourceKind.PREDICTOR, f"{settings.machine}, measured again", source.row)
    return ComparisonColumn(source, column_of(median_round)), ComparisonColumn(
        repeated, column_of(last_round)
    )


def median_answers(rounds: Sequence[Sequence[Answer]]) -> list[Answer]:
    """The median of each block's measurements, or its first failure if there is none."""
    answers = []
    for of_block in zip(*rounds, strict=True):
        cycles = [answer.cycles for answer in of_block if answer.cycles is not None]
        answers.append(Answer(cycles=median(cycles)) if cycles else of_block[0])
    return answers
