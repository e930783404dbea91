"""The answers of sources to the items of a set, as the columns of a comparison.

`ExperimentAnswers` reads the measured experiments of an experiment set, `BlockSetAnswers` the blocks of a
basic-block set. Predictors answer for `QuestionBlocks`: for that, an experiment becomes a basic block without
dependencies (thesis §5.2.2), copies of it with operands as for measuring (Algorithm 3.1), with enough
instructions that none waits for another. A tool's answer is divided by the number of copies.
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
from inference.features.asking.predictors.opening import open_predictor
from inference.features.judging.engine.evaluation_sheets import (
    experiment_items,
    measured_cycles,
    median_cycles,
    median_items,
    model_answers,
    tool_answers,
)
from inference.features.judging.engine.request import INSTRUCTIONS, JudgeConfig
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.isa.blocks import block_of_bytes
from inference.isa.bodies import body_maker
from inference.isa.code.block import BlockError
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.targets import DEFAULT
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
from inference.storage.block_sets import BATCH_ROWS, block_items
from inference.storage.instruction_sets import code_isa
from inference.storage.mappings import load_model
from inference.storage.streaming import Chunk, set_chunks

NO_CODE = "no code can be made"
NOT_SAMPLED = "not in the sample"
NO_PREDICTIONS = "no answers at all"
NOT_MEASURED = "not measured there"
NO_COLUMN_ANSWER = "the column has no answer"
UNKNOWN = "(unknown instruction)"
"""Stands in the table for instructions without a scheme."""
_ROWS = 10_000


def store_answer_columns(row: BasicBlockSet, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
    """Store the answers as columns of a set, and return all columns; call it in a transaction.

    Sources that are columns of the set are kept. Of two columns of a predictor, only the first refers to it.
    """
    new_columns = [column for column in columns if not isinstance(column.source.row, BlockColumn)]
    heads: list[tuple[str, Predictor | None]] = []
    for column in new_columns:
        predictor = column.source.row if isinstance(column.source.row, Predictor) else None
        is_first = predictor not in [head for _, head in heads]
        heads.append((column.source.name, predictor if is_first else None))
    stored = iter(add_columns(row, heads, [answers_in(column.answers) for column in new_columns]))
    return [
        column.source.row if isinstance(column.source.row, BlockColumn) else next(stored)
        for column in columns
    ]


@dataclass(frozen=True)
class ExperimentBlock:
    """The code of `copies` of an experiment; b"" and 0 if it cannot be measured."""

    code: bytes
    copies: int


def block_of(
    terms: list[tuple[str, int]], instructions: int = INSTRUCTIONS, isa: str = DEFAULT
) -> ExperimentBlock:
    """The block of an experiment; `terms` are (scheme text, multiplicity) pairs."""
    try:
        body = body_maker(isa).unroll(terms, instructions)
    except CannotMeasureError:
        return ExperimentBlock(b"", 0)
    return ExperimentBlock(body.code, body.copies)


def blocks_of(
    table: ExperimentTable, at: Int64s, instructions: int = INSTRUCTIONS, isa: str = DEFAULT
) -> Iterator[ExperimentBlock]:
    """Yields the blocks of the experiments `at` of a table, in that order."""
    for number in at.tolist():
        entries = slice(int(table.offsets[number]), int(table.offsets[number + 1]))
        schemes = [table.schemes[scheme] for scheme in table.scheme[entries].tolist()]
        yield block_of(list(zip(schemes, table.count[entries].tolist(), strict=True)), instructions, isa)


def report_progress(task: Task, phase: str, done: int, total: int, unit: str, began: float) -> None:
    """Emit the progress of a stage that `began` at a `time.monotonic()`; raises what a pulse raises."""
    rate = done / max(time.monotonic() - began, 1e-9)
    eta = (total - done) / rate if rate else None
    task.reporter.emit(Progress(phase, done, total, rate, unit, eta))
    task.reporter.pulse()


def sample_places(size: int, limit: int, seed: int) -> Int64s:
    """A sample of at most `limit` of `size` items, ascending: int64[m]; the same for the same seed."""
    if size <= limit:
        return np.arange(size)
    return np.sort(np.random.default_rng(seed).choice(size, limit, replace=False))


class QuestionBlocks:
    """The blocks that every predictor answers for, made of the items `at`: int64[m] of `size` items.

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
        """The answers of a predictor. Raises `PredictorError` if it cannot be used here."""
        with (
            closing(open_predictor(row, self._task, isa=self._isa)) as tool,
            closing(Panel([tool], self._task.reporter.pulse)) as panel,
        ):
            answers = iter(answers_of(self._task, panel, self.codes, row.name)[0])
        cycles = np.full(self._size, np.nan)
        reasons = [NOT_SAMPLED] * self._size
        for place, block in zip(self.at.tolist(), self._blocks, strict=True):
            answer = next(answers) if block.copies else None
            if answer is None:
                reasons[place] = NO_CODE
            elif answer.cycles is None:
                assert answer.failure is not None, "an answer is a number or a failure"
                reasons[place] = answer.failure.value
            else:
                cycles[place] = answer.cycles / block.copies
        return Answers.of(cycles, reasons)

    def no_answers(self) -> Answers:
        """The answers of a predictor that cannot be used here: none."""
        return Answers.of(np.full(self._size, np.nan), NO_PREDICTIONS)


class ExperimentAnswers:
    """Reads an experiment set once: its experiments, and the answers of mappings and annotated tools."""

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
        """Read all measurements, with progress after each chunk."""
        total, began = self.row.measurements.count(), time.monotonic()
        for chunk in set_chunks(self.row, answers=self._with_tools):
            self.read += chunk.read
            self._chunks.append(chunk)
            report_progress(self._task, "read", self.read, total, "measurements", began)

    @cached_property
    def items(self) -> Items:
        return experiment_items(self._chunks)

    @property
    def measured(self) -> Floats:
        """The measured cycles of each item: float64[n], > 0."""
        return measured_cycles(self._chunks)

    def direct_answers(self, source: AnswerSource) -> Answers | None:
        """The answers of a mapping, an annotated tool or another set; None for a predictor, which has to be
        asked."""
        if isinstance(source.row, ExperimentSet):
            return answers_of_other_set(self.items, source.row)
        if source.kind is SourceKind.TOOL:
            return tool_answers(self._chunks, source.name)
        if isinstance(source.row, PortMapping | ResourceMapping):
            return model_answers(self._chunks, load_model(source.row), self._task.reporter.pulse)
        return None

    def question_blocks(self) -> QuestionBlocks:
        """The blocks of the experiments, or of a sample of them."""
        table, config = self.items.table, self._config
        assert table is not None, "experiments have schemes"
        at = sample_places(len(table), config.most, config.seed)
        blocks: list[ExperimentBlock] = []
        isa = code_isa(self.row.isa)
        began = time.monotonic()
        for number, block in enumerate(blocks_of(table, at, config.instructions, isa)):
            blocks.append(block)
            if number % 200 == 0:
                report_progress(self._task, "blocks", number, len(at), "experiments", began)
        return QuestionBlocks(self._task, len(table), at, blocks, isa)


class MedianAnswers(ExperimentAnswers):
    """Each experiment once, with the median of its measurements, for comparison with another set's
    medians."""

    @cached_property
    def _once(self) -> tuple[Items, Floats]:
        return median_items(experiment_items(self._chunks), measured_cycles(self._chunks))

    @cached_property
    def items(self) -> Items:
        return self._once[0]

    @property
    def measured(self) -> Floats:
        return self._once[1]


def answers_of_other_set(items: Items, other: ExperimentSet) -> Answers:
    """The answers of another set: the median of its settled measurements of each experiment."""
    rows = Measurement.objects.filter(experiment_set=other, state=Measurement.State.SETTLED)
    values = rows.order_by("id").values_list("experiment_id", "cycles").iterator(_ROWS)
    pairs = np.fromiter(values, dtype=[("experiment", np.int64), ("cycles", np.float64)])
    experiments, middle, _ = median_cycles(pairs["experiment"], pairs["cycles"])
    cycles = np.full(len(items), np.nan)
    of_predictor = items.experiments
    if len(experiments) and of_predictor is not None:
        place = np.minimum(np.searchsorted(experiments, of_predictor), len(experiments) - 1)
        matches = experiments[place] == of_predictor
        cycles[matches] = middle[place[matches]]
    return Answers.of(cycles, NOT_MEASURED)


class BlockSetAnswers:
    """Reads a basic-block set, which has no measurements but in its columns."""

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
        """NaN for all blocks, since the reference is one of the columns."""
        return np.full(self.read, np.nan)

    def direct_answers(self, source: AnswerSource) -> Answers | None:
        """The answers of a column; None for a predictor, which has to be asked."""
        return column_answers(source.row, self.read) if isinstance(source.row, BlockColumn) else None

    def question_blocks(self) -> QuestionBlocks:
        """The blocks, or a sample of them."""
        at = sample_places(self.read, self._config.most, self._config.seed)
        blocks = [ExperimentBlock(self.codes[place], 1) for place in at.tolist()]
        return QuestionBlocks(self._task, self.read, at, blocks, code_isa(self.row.isa))

    def store_columns(self, run: Run, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
        """Store answers as columns of the set, in the transaction that stores the comparison; returns the
        columns.

        [] here: a comparison does not change its set.
        """
        return []


def column_answers(column: BlockColumn, size: int) -> Answers:
    """The answers of a stored column to the blocks of its set, with the failures as reasons."""
    return answers_of_columns([column], size)[0]


def answers_of_columns(columns: Sequence[BlockColumn], size: int) -> list[Answers]:
    """`column_answers` of each column of a set of `size` blocks (one query)."""
    cycles = {column.pk: np.full(size, np.nan) for column in columns}
    reasons = {column.pk: [NO_COLUMN_ANSWER] * size for column in columns}
    rows = Prediction.objects.filter(column__in=list(cycles))
    numbers = rows.values_list("column_id", "block__position", "cycles", "failure")
    for column, position, value, failure in numbers.iterator(BATCH_ROWS):
        if value is None:
            reasons[column][position] = failure
        else:
            cycles[column][position] = value
    return [Answers.of(cycles[column.pk], reasons[column.pk]) for column in columns]


def block_table(codes: Sequence[bytes], isa: str, task: Task) -> ExperimentTable:
    """The table of the blocks' schemes; `UNKNOWN` stands for instructions without one and for broken code."""
    mixes = []
    for number, code in enumerate(codes):
        mixes.append(Experiment.of(_mix(code, isa)))
        if number % BATCH_ROWS == 0:
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
