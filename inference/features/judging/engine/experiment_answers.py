"""The measured experiments of a set as items, and what mappings, annotations and other sets say of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from inference.core.arrays import Floats
from inference.core.judging.sheet import Answers, ItemKind, Items
from inference.core.predicting import ThroughputModel, predicted_cycles
from inference.core.tables import ExperimentTable
from inference.features.judging.engine.experiment_blocks import ExperimentBlock, blocks_of
from inference.features.judging.engine.question_blocks import QuestionBlocks, sampled, tell_progress
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import AnswerSource, SourceKind
from inference.isa.targets import DEFAULT
from inference.models import ExperimentSet, Measurement, PortMapping, ResourceMapping
from inference.runs.kinds import Task
from inference.storage.resource_mappings import load_model
from inference.storage.streaming import Chunk, set_chunks

NOT_DESCRIBED = "has schemes that the mapping does not describe"
NO_ANSWER = "no answer came with the set"
NOT_MEASURED = "not measured there"

_ROWS = 10_000


class ExperimentAnswers:
    """Reads a set once: its experiments, and what mappings and annotated tools say of them."""

    def __init__(
        self, task: Task, row: ExperimentSet, config: JudgeConfig, sources: Sequence[AnswerSource]
    ) -> None:
        self.row = row
        self._task = task
        self._config = config
        self._models: dict[str, ThroughputModel] = {
            source.text: load_model(source.row)
            for source in sources
            if isinstance(source.row, PortMapping | ResourceMapping)
        }
        self._tools = [source.name for source in sources if source.kind is SourceKind.TOOL]
        self._answers: dict[str, list[Floats]] = {source.text: [] for source in sources}
        self._chunks: list[Chunk] = []
        self.read = 0

    def read_all(self) -> None:
        """Read everything; progress is told chunk by chunk."""
        total, began = self.row.measurements.count(), time.monotonic()
        for chunk in set_chunks(self.row, answers=bool(self._tools)):
            self._add(chunk)
            tell_progress(self._task, "read", self.read, total, "measurements", began)

    def _add(self, chunk: Chunk) -> None:
        self.read += chunk.read
        self._chunks.append(chunk)
        for text, model in self._models.items():
            self._answers[text].append(predicted_cycles(model, chunk.table))
        for tool in self._tools:
            nothing = np.full(len(chunk.ids), np.nan)
            self._answers[f"{SourceKind.TOOL}:{tool}"].append(chunk.answers.get(tool, nothing))

    @cached_property
    def items(self) -> Items:
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
    def measured(self) -> Floats:
        """What was measured of each item: float64[n], > 0."""
        return np.concatenate([np.zeros(0), *(chunk.cycles for chunk in self._chunks)])

    @property
    def table(self) -> ExperimentTable:
        return joined([chunk.table for chunk in self._chunks])

    def direct(self, source: AnswerSource) -> Answers | None:
        """What a mapping, an annotated tool or another set says; None for what has to be asked."""
        if isinstance(source.row, ExperimentSet):
            return measured_elsewhere(self.items, source.row)
        if source.kind is SourceKind.TOOL or source.text in self._models:
            cycles = np.concatenate([np.zeros(0), *self._answers[source.text]])
            return Answers.of(cycles, NO_ANSWER if source.row is None else NOT_DESCRIBED)
        return None

    def question_blocks(self) -> QuestionBlocks:
        """The experiments as blocks, or a sample of many."""
        table, config = self.table, self._config
        at = sampled(len(table), config.most, config.seed)
        blocks: list[ExperimentBlock] = []
        began = time.monotonic()
        for number, block in enumerate(blocks_of(table, at, config.instructions)):
            blocks.append(block)
            if number % 200 == 0:
                tell_progress(self._task, "blocks", number, len(at), "experiments", began)
        return QuestionBlocks(self._task, len(table), at, blocks, DEFAULT)


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
    rows_of_other = np.array(list(values.iterator(_ROWS)), dtype=np.float64).reshape(-1, 2)
    experiments, first, counts = np.unique(
        rows_of_other[:, 0].astype(np.int64), return_index=True, return_counts=True
    )
    cycles = np.full(len(items), np.nan)
    own = items.experiments
    if len(experiments) and own is not None:
        low, high = first + (counts - 1) // 2, first + counts // 2
        medians = (rows_of_other[low, 1] + rows_of_other[high, 1]) / 2
        place = np.minimum(np.searchsorted(experiments, own), len(experiments) - 1)
        there = experiments[place] == own
        cycles[there] = medians[place[there]]
    return Answers.of(cycles, NOT_MEASURED)
