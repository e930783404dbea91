"""Runs of kind `columns`: predictors are asked about all blocks of a set, which keeps their answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from anica_app.campaigning.columns import add_columns, answers_of, codes_of
from anica_app.campaigning.opening import opened_panel
from anica_app.campaigning.set_config import read_set, refuse_unknown
from anica_app.core.answers import Answer
from anica_app.models import BasicBlockSet, Predictor
from inference.core.protocols import Json
from inference.models import Run
from inference.runs.described_rows import read_rows
from inference.runs.errors import ConfigError, JobError
from inference.runs.job import Store, Task
from inference.runs.journal import Entry

KIND = "columns"
MOST = 20
"""Predictors of one run."""


class ColumnsJob:
    """Runs of kind `columns`. `block_set` and `predictors` are ids.

    Interrupted, they begin anew with remembered answers. A predictor that has a column already is refused:
    its answers would be the same.
    """

    short = False

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` naming the field."""
        refuse_unknown(config, ("block_set", "predictors"), "a run for columns")
        row = read_set(config.get("block_set"))
        predictors = read_rows(Predictor, "predictors", config.get("predictors"), 1, MOST)
        there = row.columns.filter(predictor__in=predictors).select_related("predictor").first()
        if there is not None:
            raise ConfigError(f"predictors: {there.predictor} has a column in {row.name!r} already")
        return {"block_set": row.pk, "predictors": [one.pk for one in predictors]}

    def submitted(self, run: Run) -> None:
        """Nothing is to be prepared."""

    def work(self, task: Task) -> Store:
        """Ask for every block of the set."""
        config = task.run.config
        row = _set_or_gone(config["block_set"])
        with opened_panel(task, config["predictors"]) as panel:
            answers = answers_of(task, panel, codes_of(row), KIND)
        return partial(_store, row.pk, config["predictors"], answers)


def _store(pk: int, predictors: Sequence[int], answers: list[list[Answer]]) -> tuple[Json, Sequence[Entry]]:
    row = _set_or_gone(pk)
    columns = add_columns(row, predictors, answers)
    names = ", ".join(column.name for column in columns)
    result: Json = {
        "block_set": row.pk,
        "name": f"{names} on {row.name}",
        "columns": [column.pk for column in columns],
        "answers": [sum(one.cycles is not None for one in own) for own in answers],
    }
    return result, [("result", result)]


def _set_or_gone(pk: int) -> BasicBlockSet:
    row = BasicBlockSet.objects.filter(pk=pk).first()
    if row is None:
        raise JobError("the basic-block set has been deleted")
    return row
