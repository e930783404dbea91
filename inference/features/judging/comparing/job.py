"""Runs of kind `compare-sets`, which compare two large experiment sets."""

from __future__ import annotations

from typing import Any

from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.judging.comparing.sets import (
    SET_ROWS,
    pair_config,
    require_comparable,
    settled_experiments,
    state_of_sets,
)
from inference.features.judging.engine.differences_view import (
    Closeness,
)
from inference.features.judging.engine.item_answers import MedianAnswers
from inference.features.judging.engine.judge_jobs import JudgeJob
from inference.features.judging.engine.request import JudgeConfig
from inference.features.judging.engine.sources import SourceKind
from inference.models import ExperimentSet
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest, needed_row, read_row
from inference.storage.names import row_names


class SetPair(RunRequest):
    """The row ids of two experiment sets."""

    noun = "a comparison of sets"
    first: int
    second: int


class CompareSetsJob(JudgeJob):
    def check(self, config: Json) -> Json:
        """The description. Raises `ConfigError`, or `ExchangeError` for sets that do not fit."""
        pair = SetPair.read(config)
        require_comparable(*(read_row(SET_ROWS, name, pk) for name, pk in pair.as_json().items()))
        return pair.as_json()

    def default_name(self, config: Json) -> str:
        return " and ".join(row_names(ExperimentSet, (config["first"], config["second"])))

    def work(self, task: Task) -> Store:
        """Compare the sets. Raises `JobError` if one has been deleted."""
        first, second = (needed_row(SET_ROWS, task.run.config[name]) for name in ("first", "second"))
        state = state_of_sets(first, second)  # first, so that later measurements make the result out of date
        config = JudgeConfig(experiment_set=first.pk, sources=[f"{SourceKind.SET}:{second.pk}"])

        def facts(sheet: AnswerSheet, _columns: Any) -> Json:
            points = sheet.compare(0)
            share = Closeness.of(100 * abs(points.errors)).share(5.0) if len(points) else None
            return {
                **pair_config(first, second),
                "name": f"{first.name} and {second.name}",
                "n": len(points),
                "within_5": None if share is None else round(share, 2),
                "of": state,
                "of_second": settled_experiments(second),
            }

        reader = MedianAnswers(task, first, config, [])
        return self.compare(task, config, reader, facts, needs_reference=False)


JOBS = {"compare-sets": CompareSetsJob}
