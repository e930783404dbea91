"""Runs of kind `columns`, which add columns to a basic-block set by asking predictors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Event, ResultStored
from inference.core.protocols import Json
from inference.features.asking.block_sets.columns import KIND, add_columns, answers_of, codes_of, read_set
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, rows_in_question_mode
from inference.features.asking.predictors.opening import open_panel
from inference.models import BasicBlockSet, Predictor
from inference.predictors.protocol import Answer
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest, needed_row, read_rows
from inference.storage.instruction_sets import code_isa
from inference.storage.names import enumerated, result_name, row_names

MAX_PREDICTORS = 20
"""Predictors of one run."""


_SET = "basic-block set"


class ColumnsConfig(RunRequest):
    """`block_set` and `predictors` are ids. `mode`: that of the answers; "" for that of the set's measured
    columns."""

    noun = "a run for columns"
    block_set: int
    predictors: Annotated[list[int], Field(min_length=1, max_length=MAX_PREDICTORS)]
    mode: QuestionMode = AS_NAMED


class ColumnsJob(Job):
    """Runs of kind `columns`.

    Interrupted, they begin anew with remembered answers. A predictor that has a column already is refused:
    its answers would be the same.
    """

    def check(self, config: Json) -> Json:
        request = ColumnsConfig.read(config)
        row = read_set(request.block_set)
        columns = row.columns.select_related("predictor")
        named = read_rows(Predictor, "predictors", request.predictors)
        predictors = rows_in_question_mode(named, request.mode, [column.predictor for column in columns])
        there = row.columns.filter(predictor__in=predictors).select_related("predictor").first()
        if there is not None:
            raise ConfigError(f"predictors: {there.predictor} has a column in {row.name!r} already")
        return request.as_json() | {"predictors": [predictor.pk for predictor in predictors]}

    def default_name(self, config: Json) -> str:
        (blocks,) = row_names(BasicBlockSet, [config["block_set"]])
        return result_name(blocks, enumerated(row_names(Predictor, config["predictors"])))

    def work(self, task: Task) -> Store:
        config = task.run.config
        row = needed_row(BasicBlockSet, config["block_set"], _SET)
        with open_panel(task, config["predictors"], code_isa(row.isa)) as panel:
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
        "answers": [sum(answer.cycles is not None for answer in of_column) for of_column in answers],
    }
    return result, [ResultStored(result)]


JOBS = {"columns": ColumnsJob}
