"""What predictors say of all blocks of a set, as new columns of it."""

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
from inference.runs.described_rows import read_row
from inference.runs.kinds import Task
from inference.storage.block_sets import ROWS, insert_answers
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
