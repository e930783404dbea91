"""The measured experiments of a set as items, and what mappings, annotations and other sets say of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from inference.core.arrays import Floats
from inference.core.judging.sheet import Answers, Items
from inference.features.judging.engine.experiment_blocks import ExperimentBlock, blocks_of
from inference.features.judging.engine.experiment_chunks import (
    experiment_items,
    measured_cycles,
    model_answers,
    tool_answers,
)
from inference.features.judging.engine.question_blocks import QuestionBlocks, sampled, tell_progress
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import AnswerSource, SourceKind
from inference.isa.targets import DEFAULT
from inference.models import ExperimentSet, Measurement, PortMapping, ResourceMapping
from inference.runs.kinds import Task
from inference.storage.mappings import load_model
from inference.storage.streaming import Chunk, set_chunks

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
