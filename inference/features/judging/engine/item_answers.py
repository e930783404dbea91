"""What sources say of the items of a set, as the columns of a comparison.

`ExperimentAnswers` reads the measured experiments of an experiment set, `BlockAnswers` the blocks of a
basic-block set. Predictors are asked about `QuestionBlocks`: for that, an experiment becomes a basic block
without dependencies (thesis §5.2.2), some copies of it with the operands that measuring gives them
(Algorithm 3.1), enough instructions that none has to wait for another. What a tool says is divided by the
number of copies.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inference.core.events import Progress
from inference.core.experiment import Experiment
from inference.core.judging.sheet import Answers, Items
from inference.core.tables import ExperimentTable, Floats, Int64s
from inference.features.asking.block_sets.columns import add_columns, answers_of, codes_of
from inference.features.asking.predictors.opening import opened
from inference.features.judging.engine.evaluation_sheets import (
    experiment_items,
    measured_cycles,
    median_items,
    medians,
    model_answers,
    tool_answers,
)
from inference.features.judging.engine.request import INSTRUCTIONS, JudgeConfig
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.isa.blocks import BlockError, block_of_bytes
from inference.isa.bodies import body_maker
from inference.isa.targets import DEFAULT
from inference.isa.unrolling import CannotMeasureError
from inference.models import (
    BasicBlockSet,
    BlockColumn,
    ExperimentSet,
    Measurement,
    PortMapping,
    Prediction,
    Predictor,
    ResourceMapping,
    Run,
)
from inference.predictors.answer_arrays import answers_in
from inference.predictors.panel import Panel
from inference.runs.kinds import Task
from inference.storage.block_rows import ROWS, block_items
from inference.storage.instruction_sets import code_isa
from inference.storage.resource_mappings import load_model
from inference.storage.streaming import Chunk, set_chunks

NO_CODE = "there is no code for it"
NOT_ASKED = "not among those asked for"
NOTHING = "nothing is said at all"
NOT_MEASURED = "not measured there"
NOTHING_THERE = "the column has nothing for it"
UNKNOWN = "(unknown instruction)"
"""Stands in the table for instructions that have no scheme."""
_ROWS = 10_000


def keep_columns(row: BasicBlockSet, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
    """The columns of a set with these answers, those of asked predictors as new ones; in a transaction.

    A predictor that was asked twice stands behind its first column alone. What was held already is left.
    """
    asked = [column for column in columns if not isinstance(column.source.row, BlockColumn)]
    heads: list[tuple[str, Predictor | None]] = []
    for column in asked:
        predictor = column.source.row if isinstance(column.source.row, Predictor) else None
        is_first = predictor not in [known for _, known in heads]
        heads.append((column.source.name, predictor if is_first else None))
    made = iter(add_columns(row, heads, [answers_in(column.answers) for column in asked]))
    return [
        column.source.row if isinstance(column.source.row, BlockColumn) else next(made) for column in columns
    ]


@dataclass(frozen=True)
class ExperimentBlock:
    """The code of one experiment, `copies` times; or, with no code, why there is none."""

    code: bytes
    copies: int
    obstacle: str = ""


def block_of(terms: list[tuple[str, int]], instructions: int = INSTRUCTIONS) -> ExperimentBlock:
    """The block of an experiment of x86-64; `terms` are (scheme text, multiplicity) pairs."""
    try:
        body = body_maker(DEFAULT).unroll(terms, instructions)
    except CannotMeasureError as error:
        return ExperimentBlock(b"", 0, str(error))
    return ExperimentBlock(body.code, body.copies)


def blocks_of(
    table: ExperimentTable, at: Int64s, instructions: int = INSTRUCTIONS
) -> Iterator[ExperimentBlock]:
    """The blocks of the experiments `at` of a table, in that order, as they are made."""
    for number in at.tolist():
        entries = slice(int(table.offsets[number]), int(table.offsets[number + 1]))
        schemes = [table.schemes[scheme] for scheme in table.scheme[entries].tolist()]
        yield block_of(list(zip(schemes, table.count[entries].tolist(), strict=True)), instructions)


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


class ExperimentAnswers:
    """Reads a set once: its experiments, and what mappings and annotated tools say of them."""

    def __init__(
        self, task: Task, row: ExperimentSet, config: JudgeConfig, sources: Sequence[AnswerSource]
    ) -> None:
        self.row = row
        self._task = task
        self._config = config
        self._with_tools = any(source.kind is SourceKind.TOOL for source in sources)
        self._chunks: list[Chunk] = []
        self.read = 0

    def read_all(self) -> None:
        """Read everything; progress is told chunk by chunk."""
        total, began = self.row.measurements.count(), time.monotonic()
        for chunk in set_chunks(self.row, answers=self._with_tools):
            self.read += chunk.read
            self._chunks.append(chunk)
            tell_progress(self._task, "read", self.read, total, "measurements", began)

    @cached_property
    def items(self) -> Items:
        return experiment_items(self._chunks)

    @property
    def measured(self) -> Floats:
        """What was measured of each item: float64[n], > 0."""
        return measured_cycles(self._chunks)

    def direct(self, source: AnswerSource) -> Answers | None:
        """What a mapping, an annotated tool or another set says; None for what has to be asked."""
        if isinstance(source.row, ExperimentSet):
            return measured_elsewhere(self.items, source.row)
        if source.kind is SourceKind.TOOL:
            return tool_answers(self._chunks, source.name)
        if isinstance(source.row, PortMapping | ResourceMapping):
            return model_answers(self._chunks, load_model(source.row), self._task.reporter.pulse)
        return None

    def question_blocks(self) -> QuestionBlocks:
        """The experiments as blocks, or a sample of many."""
        table, config = self.items.table, self._config
        assert table is not None, "experiments have schemes"
        at = sampled(len(table), config.most, config.seed)
        blocks: list[ExperimentBlock] = []
        began = time.monotonic()
        for number, block in enumerate(blocks_of(table, at, config.instructions)):
            blocks.append(block)
            if number % 200 == 0:
                tell_progress(self._task, "blocks", number, len(at), "experiments", began)
        return QuestionBlocks(self._task, len(table), at, blocks, DEFAULT)


class MedianAnswers(ExperimentAnswers):
    """Each experiment of the set once, with the median of its measurements: for another set's medians."""

    @cached_property
    def _once(self) -> tuple[Items, Floats]:
        return median_items(experiment_items(self._chunks), measured_cycles(self._chunks))

    @cached_property
    def items(self) -> Items:
        return self._once[0]

    @property
    def measured(self) -> Floats:
        return self._once[1]


def measured_elsewhere(items: Items, other: ExperimentSet) -> Answers:
    """What another set has of the same experiments: the median of its settled measurements of each."""
    rows = Measurement.objects.filter(experiment_set=other, state=Measurement.State.SETTLED)
    values = rows.order_by("id").values_list("experiment_id", "cycles").iterator(_ROWS)
    pairs = np.fromiter(values, dtype=[("experiment", np.int64), ("cycles", np.float64)])
    experiments, middle, _ = medians(pairs["experiment"], pairs["cycles"])
    cycles = np.full(len(items), np.nan)
    own = items.experiments
    if len(experiments) and own is not None:
        place = np.minimum(np.searchsorted(experiments, own), len(experiments) - 1)
        there = experiments[place] == own
        cycles[there] = middle[place[there]]
    return Answers.of(cycles, NOT_MEASURED)


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
