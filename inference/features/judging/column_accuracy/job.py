"""Runs of kind `accuracy`: the columns of a basic-block set beside one of them, where that takes long."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.event import Event
from inference.core.events import Progress, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import read_set
from inference.features.judging.column_accuracy.accuracy import KIND, Accuracy, accuracy_of
from inference.models import BlockColumn, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest


class AccuracyConfig(RunRequest):
    """`block_set` is the id of one, `reference` that of a column of it."""

    noun = "a comparison of columns"
    block_set: int
    reference: int


class AccuracyJob:
    """Runs of kind `accuracy`; see `AccuracyConfig`."""

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        asked = AccuracyConfig.read(config)
        row = read_set(asked.block_set)
        if not row.columns.filter(pk=asked.reference).exists():
            known = ", ".join(f"{column.pk} ({column.name})" for column in row.columns.order_by("position"))
            raise ConfigError(f"reference must be a column of the set: {known or 'it has none'}")
        return asked.as_json()

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        reference = BlockColumn.objects.filter(pk=task.run.config["reference"]).first()
        if reference is None:
            raise JobError("the reference column has been deleted")

        def told(done: int, total: int) -> None:
            task.reporter.pulse()
            task.reporter.emit(Progress(KIND, done, total, 0.0, "columns", None))

        found = accuracy_of(reference.block_set, reference, told)
        return partial(_store, reference, found)


def _store(reference: BlockColumn, found: Accuracy) -> tuple[Json, Sequence[Event]]:
    name = f"columns of {reference.block_set.name} beside {reference.name}"
    result: Json = {"block_set": reference.block_set_id, "name": name, "accuracy": found.as_json()}
    return result, [ResultStored({"name": name, "block_set": reference.block_set_id})]
