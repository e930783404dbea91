"""Runs of kind `columns`: predictors are asked about all blocks of a set, which keeps their answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Event, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import KIND, add_columns, answers_of, codes_of, read_set
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, asked_in_mode
from inference.features.asking.predictors.panel import opened_panel
from inference.models import BasicBlockSet, Predictor
from inference.predictors.protocol import Answer
from inference.runs.described_rows import needed_row, read_rows
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest
from inference.storage.instruction_sets import code_isa

MOST = 20
"""Predictors of one run."""


_SET = "basic-block set"


class ColumnsConfig(RunRequest):
    """`block_set` and `predictors` are ids. `mode`: in which the predictors are asked; without, as measured
    columns of the set were measured.
    """

    noun = "a run for columns"
    block_set: int
    predictors: Annotated[list[int], Field(min_length=1, max_length=MOST)]
    mode: QuestionMode = AS_NAMED


class ColumnsJob(Job):
    """Runs of kind `columns`.

    Interrupted, they begin anew with remembered answers. A predictor that has a column already is refused:
    its answers would be the same.
    """

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        asked = ColumnsConfig.read(config)
        row = read_set(asked.block_set)
        columns = row.columns.select_related("predictor")
        named = read_rows(Predictor, "predictors", asked.predictors)
        predictors = asked_in_mode(named, asked.mode, [column.predictor for column in columns])
        there = row.columns.filter(predictor__in=predictors).select_related("predictor").first()
        if there is not None:
            raise ConfigError(f"predictors: {there.predictor} has a column in {row.name!r} already")
        return asked.as_json() | {"predictors": [one.pk for one in predictors]}

    def work(self, task: Task) -> Store:
        """Ask for every block of the set."""
        config = task.run.config
        row = needed_row(BasicBlockSet, config["block_set"], _SET)
        with opened_panel(task, config["predictors"], code_isa(row.isa)) as panel:
            answers = answers_of(task, panel, codes_of(row), KIND)
        return partial(_store, row.pk, config["predictors"], answers)


def _store(pk: int, predictors: Sequence[int], answers: list[list[Answer]]) -> tuple[Json, Sequence[Event]]:
    row = needed_row(BasicBlockSet, pk, _SET)
    rows = Predictor.objects.in_bulk(predictors)
    columns = add_columns(row, [(rows[pk].name, rows[pk]) for pk in predictors], answers)
    names = ", ".join(column.name for column in columns)
    result: Json = {
        "block_set": row.pk,
        "name": f"{names} on {row.name}",
        "columns": [column.pk for column in columns],
        "answers": [sum(one.cycles is not None for one in own) for own in answers],
    }
    return result, [ResultStored(result)]
