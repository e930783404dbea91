"""Runs of kind `accuracy`, which compare all columns of a basic-block set with one of them."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.judging.column_accuracy.accuracy import accuracy_of_sheet
from inference.features.judging.engine.judge_jobs import JudgeJob
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import ComparisonColumn, SourceKind
from inference.models import BasicBlockSet, BlockColumn
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest
from inference.storage.names import result_name, row_names


class AccuracyConfig(RunRequest):
    """`block_set`: row id. `reference`: id of one of its columns."""

    noun = "a comparison of columns"
    block_set: int
    reference: int


class AccuracyJob(JudgeJob):
    def check(self, config: Json) -> Json:
        request = AccuracyConfig.read(config)
        row = read_set(request.block_set)
        if not row.columns.filter(pk=request.reference).exists():
            column_names = ", ".join(
                f"{column.pk} ({column.name})" for column in row.columns.order_by("position")
            )
            raise ConfigError(f"reference must be a column of the set: {column_names or 'it has none'}")
        return request.as_json()

    def default_name(self, config: Json) -> str:
        (blocks,) = row_names(BasicBlockSet, [config["block_set"]])
        (reference,) = row_names(BlockColumn, [config["reference"]])
        return result_name(blocks, f"columns against {reference}")

    def work(self, task: Task) -> Store:
        config = AccuracyConfig.from_stored(task.run.config)
        columns = BlockColumn.objects.filter(block_set=config.block_set).order_by("position")
        names = dict(columns.values_list("pk", "name"))
        if names.pop(config.reference, None) is None or not names:
            raise JobError("the reference column, or all others, have been deleted")
        described = JudgeConfig.model_construct(
            block_set=config.block_set,
            sources=[f"{SourceKind.COLUMN}:{pk}" for pk in names],
            against=f"{SourceKind.COLUMN}:{config.reference}",
        )

        def facts(sheet: AnswerSheet, _columns: Sequence[ComparisonColumn]) -> Json:
            return {"accuracy": accuracy_of_sheet(sheet, config.reference, list(names.items()))}

        return self.compare(task, described, facts=facts)


JOBS = {"accuracy": AccuracyJob}
