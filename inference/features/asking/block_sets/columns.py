"""Columns of basic-block sets: which are measured, their names, and adding some."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from inference.core.events import Progress
from inference.core.protocols import Checkpoint
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet, BlockColumn, Predictor
from inference.predictors import machine, nanobench
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer
from inference.runs.kinds import Task
from inference.runs.request import read_row
from inference.storage.block_sets import BATCH_ROWS, insert_answers
from inference.storage.names import NAME_LIMIT


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
        name = _unused_name(title[:NAME_LIMIT], used_names)
        column = BlockColumn.objects.create(block_set=row, position=at, name=name, predictor=predictor)
        insert_answers((column.pk, block, answer) for block, answer in zip(ids, column_answers, strict=True))
        columns.append(column)
    return columns


def _unused_name(name: str, used_names: set[str]) -> str:
    candidate, number = name, 2
    while candidate in used_names:
        candidate, number = f"{name} ({number})", number + 1
    used_names.add(candidate)
    return candidate
