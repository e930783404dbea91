"""What the columns of a comparison say: mappings, annotations, other measurements, tools that are asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.events import Progress
from inference.core.judging.sheet import Answers, ItemKind, Items
from inference.core.predicting import ThroughputModel, predicted_cycles
from inference.core.tables import ExperimentTable
from inference.features.asking.block_sets.columns import answers_of
from inference.features.asking.predictors.query import opened
from inference.features.judging.comparisons.experiment_blocks import ExperimentBlock, blocks_of, sampled
from inference.features.judging.comparisons.request import ComparisonConfig
from inference.isa.targets import DEFAULT
from inference.models import ExperimentSet, Measurement, Predictor
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer
from inference.runs.kinds import Task
from inference.storage.streaming import Chunk, set_chunks

NOT_DESCRIBED = "has schemes that the mapping does not describe"
NO_ANSWER = "no answer came with the set"
NOT_MEASURED = "not measured there"
NO_CODE = "there is no code for it"
NOT_ASKED = "not among those asked for"
NOTHING = "nothing is said at all"

_ROWS = 10_000


def tell_progress(task: Task, phase: str, done: int, total: int, unit: str, began: float) -> None:
    """How far a stage is that began at a moment of `time.monotonic`; raises what a pulse raises."""
    rate = done / max(time.monotonic() - began, 1e-9)
    eta = (total - done) / rate if rate else None
    task.reporter.emit(Progress(phase, done, total, rate, unit, eta))
    task.reporter.pulse()


class ComparisonPass:
    """Goes through a set once: its points, and on the way what mappings and annotated tools say of them."""

    def __init__(self, judge: ExperimentSet, models: Sequence[ThroughputModel], tools: Sequence[str]) -> None:
        self._judge = judge
        self._models = models
        self._tools = tools
        self.read = 0
        self._chunks: list[Chunk] = []
        self._modelled: list[list[Floats]] = [[] for _ in models]
        self._annotated: list[list[Floats]] = [[] for _ in tools]

    def add_all(self, task: Task) -> None:
        """Read everything; progress is told chunk by chunk."""
        total, began = self._judge.measurements.count(), time.monotonic()
        for chunk in set_chunks(self._judge, answers=bool(self._tools)):
            self._add(chunk)
            tell_progress(task, "read", self.read, total, "measurements", began)

    def _add(self, chunk: Chunk) -> None:
        self.read += chunk.read
        self._chunks.append(chunk)
        for model, found in zip(self._models, self._modelled, strict=True):
            found.append(predicted_cycles(model, chunk.table))
        for tool, found in zip(self._tools, self._annotated, strict=True):
            found.append(chunk.answers.get(tool, np.full(len(chunk.ids), np.nan)))

    @property
    def items(self) -> Items:
        """All settled measurements."""
        chunks = self._chunks
        ids, experiments, lengths = (
            np.concatenate([np.zeros(0, dtype=np.int64), *parts])
            for parts in (
                (chunk.ids for chunk in chunks),
                (chunk.experiments for chunk in chunks),
                (chunk.table.lengths for chunk in chunks),
            )
        )
        return Items(
            ItemKind.EXPERIMENTS, ids, lengths, experiments=experiments, read_table=lambda: self.table
        )

    @property
    def cycles(self) -> Floats:
        """What was measured of each item: float64[n], > 0."""
        return np.concatenate([np.zeros(0), *(chunk.cycles for chunk in self._chunks)])

    @property
    def table(self) -> ExperimentTable:
        """Their experiments."""
        return joined([chunk.table for chunk in self._chunks])

    @property
    def modelled(self) -> list[Answers]:
        """What each mapping says."""
        return [Answers.of(np.concatenate([np.zeros(0), *parts]), NOT_DESCRIBED) for parts in self._modelled]

    @property
    def annotated(self) -> list[Answers]:
        """What each tool has said."""
        return [Answers.of(np.concatenate([np.zeros(0), *parts]), NO_ANSWER) for parts in self._annotated]


def joined(tables: Sequence[ExperimentTable]) -> ExperimentTable:
    """Tables one after the other, over the schemes of all of them in the order of their texts."""
    schemes = sorted({scheme for table in tables for scheme in table.schemes})
    number = {scheme: k for k, scheme in enumerate(schemes)}
    parts = [_renumbered(table, number) for table in tables]
    terms = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(table.offsets) for table in tables)])
    return ExperimentTable(
        tuple(schemes),
        np.concatenate(([0], np.cumsum(terms))).astype(np.int64),
        np.concatenate([np.zeros(0, dtype=np.int32), *(scheme for scheme, _ in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int32), *(count for _, count in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(table.lengths for table in tables)]),
    )


def _renumbered(table: ExperimentTable, number: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Schemes and multiplicities with other numbers, which rise within each experiment again."""
    fresh = np.array([number[scheme] for scheme in table.schemes], dtype=np.int32)[table.scheme]
    experiment = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    order = np.lexsort((fresh, experiment))
    return fresh[order], table.count[order]


def measured_elsewhere(items: Items, other: ExperimentSet) -> Answers:
    """What another set has of the same experiments: the median of its settled measurements of each."""
    rows = Measurement.objects.filter(experiment_set=other, state=Measurement.State.SETTLED)
    values = rows.order_by("experiment_id", "cycles").values_list("experiment_id", "cycles")
    found = np.array(list(values.iterator(_ROWS)), dtype=np.float64).reshape(-1, 2)
    experiments, first, counts = np.unique(
        found[:, 0].astype(np.int64), return_index=True, return_counts=True
    )
    cycles = np.full(len(items), np.nan)
    own = items.experiments
    if len(experiments) and own is not None:
        low, high = first + (counts - 1) // 2, first + counts // 2
        medians = (found[low, 1] + found[high, 1]) / 2
        place = np.minimum(np.searchsorted(experiments, own), len(experiments) - 1)
        there = experiments[place] == own
        cycles[there] = medians[place[there]]
    return Answers.of(cycles, NOT_MEASURED)


class Asking:
    """The experiments of a comparison as basic blocks, which every tool is asked for."""

    def __init__(self, task: Task, table: ExperimentTable, config: ComparisonConfig) -> None:
        self._task = task
        self._n = len(table)
        self._at: Int64s = sampled(table, config.most, config.seed)
        self._blocks: list[ExperimentBlock] = []
        began = time.monotonic()
        for made, block in enumerate(blocks_of(table, self._at, config.instructions)):
            self._blocks.append(block)
            if made % 200 == 0:
                tell_progress(task, "blocks", made, len(self._at), "experiments", began)

    def ask(self, row: Predictor) -> Answers:
        """What a tool says; raises `PredictorError` where it cannot work here."""
        codes = [block.code for block in self._blocks if block.copies]
        with (
            closing(opened(row, self._task, isa=DEFAULT)) as tool,
            closing(Panel([tool], self._task.reporter.pulse)) as panel,
        ):
            answers = iter(answers_of(self._task, panel, codes, row.name)[0])
        cycles = np.full(self._n, np.nan)
        why = [NOT_ASKED] * self._n
        for place, block in zip(self._at.tolist(), self._blocks, strict=True):
            answer = next(answers) if block.copies else None
            if answer is None:
                why[place] = NO_CODE
            elif answer.cycles is None:
                why[place] = _reason(answer)
            else:
                cycles[place] = answer.cycles / block.copies
        return Answers.of(cycles, why)

    def nothing(self) -> Answers:
        """Of a tool that cannot work here."""
        return Answers.of(np.full(self._n, np.nan), NOTHING)


def _reason(answer: Answer) -> str:
    assert answer.failure is not None, "an answer is a number or a failure"
    return answer.failure.value
