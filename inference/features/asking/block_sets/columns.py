"""What predictors say of all blocks of a set, as new columns of it; the runs that ask them."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Event, Progress, ResultStored
from inference.core.protocols import Checkpoint, Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, asked_in_mode
from inference.features.asking.predictors.opening import opened_panel
from inference.formats.errors import ExchangeError
from inference.models import BasicBlockSet, BlockColumn, Predictor
from inference.predictors import machine, nanobench
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest, needed_row, read_row, read_rows
from inference.storage.block_rows import ROWS, insert_answers
from inference.storage.instruction_sets import code_isa
from inference.storage.names import NAME_LIMIT


def read_set(given: object) -> BasicBlockSet:
    """The set with this id. Raises `ConfigError`."""
    return read_row(BasicBlockSet, "block_set", given, "basic-block set")


KIND = "columns"
"""Of runs that add some."""
_PIECE = 500
_MEASURING = (machine.KIND, nanobench.KIND)
_MEASURED = re.compile(r"\bmeasure|\bbhive", re.IGNORECASE)
"""Names of columns that came with a file."""


def usual_reference(columns: Sequence[BlockColumn]) -> BlockColumn:
    """The first column that was measured, by its predictor or else by its name; the first of all without."""
    measured = [column for column in columns if is_measured(column)]
    by_machine = (column for column in measured if column.predictor is not None)
    return next(by_machine, None) or next(iter(measured), None) or columns[0]


def is_measured(column: BlockColumn) -> bool:
    """Whether a column was measured, by its predictor or else by its name."""
    if column.predictor is None:
        return _MEASURED.search(column.name) is not None
    return column.predictor.kind in _MEASURING


def column_named(block_set: BasicBlockSet, name: str) -> BlockColumn:
    """The column of this name. Raises `ExchangeError` naming those there are."""
    row = block_set.columns.filter(name=name).first()
    if row is None:
        known = ", ".join(block_set.columns.order_by("position").values_list("name", flat=True))
        raise ExchangeError(f"{block_set.name!r} has no column {name!r}, only {known or 'none'}")
    return row


def answers_of(task: Task, panel: Panel, codes: Sequence[bytes], phase: str) -> list[list[Answer]]:
    """The answers of each predictor for all blocks; progress is told piece by piece.

    Answers are remembered, so that a run that is taken up again is soon where it was.
    """
    answers: list[list[Answer]] = [[] for _ in panel.predictors]
    began = time.monotonic()
    for begin in range(0, len(codes), _PIECE):
        for own in panel.ask(codes[begin : begin + _PIECE])():
            for column, answer in zip(answers, own, strict=True):
                column.append(answer)
        panel.flush()
        task.reporter.save(task.checkpoint or Checkpoint({}))  # it tells that the run gets on
        done = len(answers[0])
        rate = done / max(time.monotonic() - began, 1e-9)
        left = (len(codes) - done) / rate
        task.reporter.emit(Progress(phase, done, len(codes), rate, "blocks", left))
    return answers


def codes_of(block_set: BasicBlockSet) -> list[bytes]:
    """All blocks in order: their positions count from 0 without gaps."""
    rows = block_set.blocks.order_by("position").values_list("code", flat=True)
    return [bytes(code) for code in rows.iterator(ROWS)]


def add_columns(
    row: BasicBlockSet, heads: Sequence[tuple[str, Predictor | None]], answers: Sequence[Sequence[Answer]]
) -> list[BlockColumn]:
    """A column for each head (name, predictor), with its answers in the order of the blocks.

    Call it in a transaction.
    """
    taken = set(row.columns.values_list("name", flat=True))
    last = row.columns.order_by("-position").values_list("position", flat=True).first()
    start = 0 if last is None else last + 1
    ids = list(row.blocks.order_by("position").values_list("pk", flat=True))
    made = []
    for at, ((title, predictor), own) in enumerate(zip(heads, answers, strict=True), start=start):
        name = _unused(title[:NAME_LIMIT], taken)
        column = BlockColumn.objects.create(block_set=row, position=at, name=name, predictor=predictor)
        insert_answers((column.pk, block, one) for block, one in zip(ids, own, strict=True))
        made.append(column)
    return made


def _unused(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    taken.add(found)
    return found


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
