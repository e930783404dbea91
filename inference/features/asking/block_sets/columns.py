"""Columns of basic-block sets, and the runs that add some by asking predictors."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.core.events import Event, Progress, ResultStored
from inference.core.protocols import Checkpoint, Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, rows_in_question_mode
from inference.features.asking.predictors.opening import open_panel
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, BlockColumn, Predictor
from inference.predictors import machine, nanobench
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest, needed_row, read_row, read_rows
from inference.storage.block_sets import BATCH_ROWS, insert_answers
from inference.storage.instruction_sets import code_isa
from inference.storage.names import NAME_LIMIT, enumerated, result_name, row_names


def read_set(value: object) -> BasicBlockSet:
    """The set with this id. Raises `ConfigError`."""
    return read_row(BasicBlockSet, "block_set", value, "basic-block set")


KIND = "columns"
"""The kind of runs that add columns."""
_PIECE_BLOCKS = 500
_MEASURING = (machine.KIND, nanobench.KIND)
_MEASURED = re.compile(r"\bmeasure|\bbhive", re.IGNORECASE)
"""Matches names of measured columns among those imported with a file."""


def usual_reference(columns: Sequence[BlockColumn]) -> BlockColumn:
    """The first measured column, preferably by a predictor; the first column if none was measured."""
    measured = [column for column in columns if is_measured(column)]
    by_machine = (column for column in measured if column.predictor is not None)
    return next(by_machine, None) or next(iter(measured), None) or columns[0]


def is_measured(column: BlockColumn) -> bool:
    """Whether a column has measurements, judged by its predictor, or without one by its name."""
    if column.predictor is None:
        return _MEASURED.search(column.name) is not None
    return column.predictor.kind in _MEASURING


def column_named(block_set: BasicBlockSet, name: str) -> BlockColumn:
    """The column of this name. Raises `ExchangeError` with the existing names."""
    row = block_set.columns.filter(name=name).first()
    if row is None:
        column_names = ", ".join(block_set.columns.order_by("position").values_list("name", flat=True))
        raise ExchangeError(f"{block_set.name!r} has no column {name!r}, only {column_names or 'none'}")
    return row


def answers_of(task: Task, panel: Panel, codes: Sequence[bytes], phase: str) -> list[list[Answer]]:
    """The answers of each predictor to all blocks, in their order, with progress after every `_PIECE_BLOCKS`.

    Answers are cached, so that a resumed run soon reaches the point of its interruption.
    """
    answers: list[list[Answer]] = [[] for _ in panel.predictors]
    began = time.monotonic()
    for begin in range(0, len(codes), _PIECE_BLOCKS):
        for piece_answers in panel.ask(codes[begin : begin + _PIECE_BLOCKS])():
            for column, answer in zip(answers, piece_answers, strict=True):
                column.append(answer)
        panel.flush()
        task.reporter.save(task.checkpoint or Checkpoint({}))  # a checkpoint counts as progress of the run
        done = len(answers[0])
        rate = done / max(time.monotonic() - began, 1e-9)
        eta = (len(codes) - done) / rate
        task.reporter.emit(Progress(phase, done, len(codes), rate, "blocks", eta))
    return answers


def codes_of(block_set: BasicBlockSet) -> list[bytes]:
    """The machine code of all blocks by position; positions count from 0 without gaps."""
    rows = block_set.blocks.order_by("position").values_list("code", flat=True)
    return [bytes(code) for code in rows.iterator(BATCH_ROWS)]


def add_columns(
    row: BasicBlockSet, heads: Sequence[tuple[str, Predictor | None]], answers: Sequence[Sequence[Answer]]
) -> list[BlockColumn]:
    """Add a column for each head (name, predictor), with its answers in the order of the blocks.

    Call it in a transaction.
    """
    used_names = set(row.columns.values_list("name", flat=True))
    last = row.columns.order_by("-position").values_list("position", flat=True).first()
    start = 0 if last is None else last + 1
    ids = list(row.blocks.order_by("position").values_list("pk", flat=True))
    columns = []
    for at, ((title, predictor), column_answers) in enumerate(zip(heads, answers, strict=True), start=start):
        name = _unused(title[:NAME_LIMIT], used_names)
        column = BlockColumn.objects.create(block_set=row, position=at, name=name, predictor=predictor)
        insert_answers((column.pk, block, answer) for block, answer in zip(ids, column_answers, strict=True))
        columns.append(column)
    return columns


def _unused(name: str, used_names: set[str]) -> str:
    candidate, number = name, 2
    while candidate in used_names:
        candidate, number = f"{name} ({number})", number + 1
    used_names.add(candidate)
    return candidate


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
