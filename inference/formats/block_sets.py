"""Basic-block sets between files and the database: looked at first, then stored all or not at all.

A file is read a chunk of rows at a time, once for looking and once for storing, so that its length does not
show in the memory taken. Rows that are broken are left out where the user wants that, and are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from django.db import transaction

from inference.core.protocols import Json
from inference.formats.block_scales import AnswersBelowBounds, Bounds, first_rows, scales_of
from inference.formats.blocks_csv import ORIGIN, WEIGHT, BlockFile, BlockRow, Broken, Scale, answer_of
from inference.formats.csv_cells import cell, rows_text
from inference.formats.errors import ExchangeError
from inference.formats.problems import Problems
from inference.formats.provenance import head_of
from inference.models import ISA, BasicBlock, BasicBlockSet, BlockColumn, Prediction
from inference.predictors.protocol import Answer
from inference.storage.block_rows import BlockToStore, insert_answers, insert_blocks
from inference.storage.errors import RefusedError
from inference.storage.names import by_name, free_or_refuse

if TYPE_CHECKING:
    from inference.models import Run

CHUNK = 2000  # rows held at a time
SHOWN = 12  # rows that a preview repeats
DUPLICATES_LISTED = 50
TITLE = "basic blocks (CSV)"
FAILED = "-1.0"

Told = Callable[[int], None]
"""Hears how many rows have been read, after every chunk; may raise in order to stop."""


@dataclass(frozen=True)
class BlockSetOptions:
    """How a file shall be read.

    `scales`: what each column is; None for one, or () for all, is what its title says, else what its numbers
    look like.
    """

    broken: Broken = Broken.STOP
    scales: tuple[Scale | None, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)


@dataclass
class ColumnFacts:
    """What a column holds: how many answers and failures, and the range of its numbers as they are stored."""

    name: str
    scale: Scale
    looks: Scale
    """What the numbers seem to be, which the user may know better."""
    answers: int = 0
    failures: int = 0
    least: float | None = None
    most: float | None = None

    def count(self, values: Sequence[Answer | None]) -> None:
        """Take in some rows of the column."""
        cycles = [value.cycles for value in values if value is not None and value.cycles is not None]
        self.answers += len(cycles)
        self.failures += sum(1 for value in values if value is not None and value.failure is not None)
        if cycles:
            self.least = min(cycles) if self.least is None else min(self.least, *cycles)
            self.most = max(cycles) if self.most is None else max(self.most, *cycles)


@dataclass
class Look:
    """What is in a file.

    `rows` can be stored; of them, `duplicates` repeat the blocks of earlier ones. `empty` have no block.
    """

    file_name: str
    columns: tuple[ColumnFacts, ...]
    problems: Problems
    doubts: AnswersBelowBounds
    broken: Broken
    rows: int = 0
    left_out: int = 0
    empty: int = 0
    instructions: int = 0
    duplicates: int = 0
    duplicate_lines: list[int] = field(default_factory=list)
    first: list[BlockRow] = field(default_factory=list)

    @property
    def acceptable(self) -> bool:
        """Whether there is something to store, and nothing forbids it."""
        return self.rows > 0 and (self.broken is Broken.SKIP or not self.problems)

    def lines(self) -> list[str]:
        """What is wrong with the file, one line per problem."""
        return [problem.line(self.file_name) for problem in self.problems.listed]

    def as_json(self) -> Json:
        """What a page and the API tell of the file before it is stored."""
        return {
            "rows": self.rows,
            "left_out": self.left_out,
            "empty": self.empty,
            "instructions": self.instructions,
            "duplicates": self.duplicates,
            "columns": [
                {
                    "name": column.name,
                    "scale": column.scale.value,
                    "looks": column.looks.value,
                    "numbers": column.answers,
                    "failures": column.failures,
                    "least": column.least,
                    "most": column.most,
                }
                for column in self.columns
            ],
            "problem_count": self.problems.count,
            "problems": [asdict(problem) for problem in self.problems.listed],
            "doubts": self.doubts.counts,
            "doubtful": [asdict(doubt) for doubt in self.doubts.listed],
            "first": [
                {"row": row.line, "hex": row.code.hex(), "numbers": list(row.numbers)} for row in self.first
            ],
        }

    def report(self) -> dict[str, Any]:
        """What a stored set keeps of this."""
        return {
            "left_out": self.left_out,
            "empty": self.empty,
            "problems": [asdict(problem) for problem in self.problems.listed],
            "problem_count": self.problems.count,
            "duplicates": self.duplicates,
            "duplicate_lines": self.duplicate_lines,
            "instructions": self.instructions,
            "scales": {column.name: column.scale.value for column in self.columns},
            "looks": {
                column.name: column.looks.value for column in self.columns if column.looks != column.scale
            },
            "doubts": [asdict(doubt) for doubt in self.doubts.listed],
            "doubt_counts": self.doubts.counts,
        }


@dataclass(frozen=True)
class _Chunk:
    rows: Sequence[BlockRow]
    answers: Sequence[tuple[Answer | None, ...]]
    """Per row, one for each column that holds answers."""
    weights: Sequence[float | None]


def look(file: BinaryIO, file_name: str, reading: BlockSetOptions, told: Told | None = None) -> Look:
    """Read a file to its end, or to its first broken row; stores nothing, never raises for what it says."""
    found, chunks = _start(file, file_name, reading)
    for _ in chunks:
        if told is not None:
            told(found.rows + found.left_out)
    return found


@transaction.atomic
def store(
    file: BinaryIO,
    file_name: str,
    name: str,
    reading: BlockSetOptions,
    *,
    note: str = "",
    isa: ISA | None = None,
    run: Run | None = None,
    told: Told | None = None,
) -> tuple[BasicBlockSet, Look]:
    """Store a file as a set of this name, all of it or nothing.

    Raises `NameTakenError`, and `RefusedError` for a file with a broken row unless such rows are skipped.
    """
    free_or_refuse(BasicBlockSet, name)
    found, chunks = _start(file, file_name, reading)
    block_set = BasicBlockSet.objects.create(
        name=name, note=note, isa=isa, run=run, source=f"{PurePath(file_name).name}, {TITLE}"[:300]
    )
    named = [column.name for column in found.columns if column.scale is not Scale.WEIGHT]
    columns = [
        BlockColumn.objects.create(block_set=block_set, position=position, name=column)
        for position, column in enumerate(named)
    ]
    position = 0
    for chunk in chunks:
        _insert(block_set, columns, position, chunk)
        position += len(chunk.rows)
        if told is not None:
            told(found.rows + found.left_out)
    if not found.acceptable:
        raise RefusedError("\n".join(["nothing was imported", *(found.lines() or ["the file has no row"])]))
    block_set.size = found.rows
    block_set.report = found.report()
    block_set.save(update_fields=["size", "report"])
    return block_set, found


def _start(file: BinaryIO, file_name: str, reading: BlockSetOptions) -> tuple[Look, Iterator[_Chunk]]:
    """What will be known at the end, and the chunks to be gone through till then."""
    blocks = BlockFile(file, reading.broken)
    first = first_rows(blocks)
    names = () if blocks.columns is None else blocks.columns.names
    titled = blocks.columns is not None and blocks.columns.titled
    told = reading.scales or (None,) * len(names)
    if len(told) != len(names):
        raise ExchangeError(f"{file_name} has {len(names)} columns behind the blocks, not {len(told)}")
    alike = scales_of(names, first, titled=titled)
    scales = tuple(known or taken for known, (taken, _) in zip(told, alike, strict=True))
    if scales.count(Scale.WEIGHT) > 1:
        raise ExchangeError("a set has one column with weights at most")
    columns = tuple(
        ColumnFacts(WEIGHT if scale is Scale.WEIGHT else name, scale, looks)
        for name, scale, (_, looks) in zip(names, scales, alike, strict=True)
    )
    found = Look(file_name, columns, blocks.problems, AnswersBelowBounds(reading.bounds), reading.broken)
    return found, _chunks(blocks, first, found)


def _chunks(blocks: BlockFile, first: Sequence[BlockRow], found: Look) -> Iterator[_Chunk]:
    """The file's rows; `found` knows all of it when they are through."""
    seen: set[int] = set()
    waiting = iter(first)
    rest = blocks.rows()
    while True:
        rows = list(islice(waiting, CHUNK))
        rows += islice(rest, CHUNK - len(rows))
        if not rows:
            found.left_out = blocks.left_out
            found.empty = blocks.empty
            return
        chunk = _chunk(rows, found.columns)
        _note(chunk, found, seen)
        yield chunk


def _chunk(rows: Sequence[BlockRow], columns: Sequence[ColumnFacts]) -> _Chunk:
    answers: list[list[Answer | None]] = []
    weights: list[float | None] = [None] * len(rows)
    for place, column in enumerate(columns):
        values = [row.numbers[place] for row in rows]
        if column.scale is Scale.WEIGHT:
            weights = [None if value is None or value < 0 else value for value in values]
            column.answers += sum(value is not None for value in weights)
            continue
        answers.append([answer_of(value, column.scale) for value in values])
        column.count(answers[-1])
    return _Chunk(rows, list(zip(*answers, strict=True)) if answers else [()] * len(rows), weights)


def _note(chunk: _Chunk, found: Look, seen: set[int]) -> None:
    found.first += chunk.rows[: SHOWN - len(found.first)]
    found.rows += len(chunk.rows)
    for row in chunk.rows:
        found.instructions += row.instructions
        known = hash(row.code)  # 64 bits, keyed by the process: 8 bytes a block instead of the block
        if known in seen:
            found.duplicates += 1
            if len(found.duplicate_lines) < DUPLICATES_LISTED:
                found.duplicate_lines.append(row.line)
        seen.add(known)
    named = [column.name for column in found.columns if column.scale is not Scale.WEIGHT]
    per_column = (
        (name, [one[place].cycles if one[place] is not None else None for one in chunk.answers])  # type: ignore[union-attr]
        for place, name in enumerate(named)
    )
    found.doubts.look(chunk.rows, per_column)


def _insert(block_set: BasicBlockSet, columns: Sequence[BlockColumn], position: int, chunk: _Chunk) -> None:
    """Rows for a chunk of blocks and their answers."""
    insert_blocks(
        block_set,
        (
            BlockToStore(row.code, row.mnemonics, row.text, weight, row.origin)
            for row, weight in zip(chunk.rows, chunk.weights, strict=True)
        ),
        position,
    )
    if not columns:
        return
    places = (position, position + len(chunk.rows) - 1)
    ids = block_set.blocks.filter(position__range=places).order_by("position").values_list("pk", flat=True)
    insert_answers(
        (column.pk, pk, one)
        for pk, answers in zip(ids, chunk.answers, strict=True)
        for column, one in zip(columns, answers, strict=True)
        if one is not None
    )


def export(block_set: BasicBlockSet) -> Iterator[str]:
    """The set as CSV text, a piece at a time: `bb`, `weight` and `origin` where blocks have one, then tools.

    Ahead of the table comes, as comments, where it is from.
    """
    columns = list(block_set.columns.order_by("position").values_list("pk", "name"))
    extra = [
        *([WEIGHT] if block_set.blocks.filter(weight__isnull=False).exists() else []),
        *([ORIGIN] if block_set.blocks.exclude(origin="").exists() else []),
    ]
    facts = {"basic-block set": block_set.name, "source": block_set.source, "note": block_set.note}
    yield head_of(**{label: text for label, text in facts.items() if text})
    yield rows_text([["bb", *extra, *(cell(name) for _, name in columns)]])
    place = {pk: at for at, (pk, _) in enumerate(columns)}
    for start in range(0, block_set.size, CHUNK):
        rows = block_set.blocks.filter(position__range=(start, start + CHUNK - 1)).order_by("position")
        found = {
            row.pk: [bytes(row.code).hex(), *(_extra(row, title) for title in extra), *[""] * len(columns)]
            for row in rows.only("code", "weight", "origin")
        }
        answers = Prediction.objects.filter(
            block__block_set=block_set, block__position__range=(start, start + CHUNK - 1)
        )
        for pk, column, cycles in answers.values_list("block_id", "column_id", "cycles"):
            found[pk][1 + len(extra) + place[column]] = FAILED if cycles is None else _cell(cycles)
        yield rows_text(found.values())


def _extra(row: BasicBlock, title: str) -> str:
    return _cell(row.weight) if title == WEIGHT else cell(row.origin)


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)


def write_block_set(name: str, file: BinaryIO) -> None:
    """The basic-block set of this name as CSV. Raises `UnknownNameError`."""
    for piece in export(by_name(BasicBlockSet, name)):
        file.write(piece.encode())
