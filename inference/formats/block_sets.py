"""Basic-block sets as files: a summary of a file, its rows in chunks, and the CSV of a stored set.

A file is read once for the preview and once for storing, so that memory does not grow with its length. Titled
columns hold cycles, or weights where the title is `weight`; an untitled column is taken for what its numbers
look like: BHive's throughput files hold cycles of a hundred executions, its source files shares, and neither
says so. The user can override both. Answers below a bound (issue width, port mapping) are stored and
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import BinaryIO

from inference.core.protocols import Json
from inference.formats.block_doubts import AnswersBelowBounds, Bounds, RepeatedBlocks
from inference.formats.block_tables import open_blocks
from inference.formats.blocks_csv import ORIGIN, WEIGHT, BlockFile, BlockRow, BrokenRows, Scale, answer_of
from inference.formats.problems import ExchangeError, Problems
from inference.formats.provenance import head_of
from inference.formats.quoting import cell, rows_text
from inference.isa.blocks import BlockName
from inference.predictors.protocol import Answer

SAMPLE_ROWS = 5000
"""Rows at the beginning of a file from which the unit of its numbers is concluded."""

SLOWEST_OF_FAST = 6.0
"""Cycles per instruction that at least one in ten blocks stays below, unless all numbers are ×100.

A hundred executions of the fastest instructions take 100 / 6 ≈ 17 cycles, so even a set of nothing but fast
blocks stands out; of blocks measured in cycles, a tenth without a division or a long chain is always there.
"""

FASTEST = 0.05
"""Cycles per instruction that no block falls below; shares of a large set do, for nearly all blocks."""

_FASTEST_SHARE = 0.1  # of the blocks take less than what is compared with `SLOWEST_OF_FAST`


def scales_of(
    names: Sequence[str], rows: Sequence[BlockRow], *, titled: bool
) -> tuple[tuple[Scale, Scale], ...]:
    """Per column, (the scale that is assumed, the scale that its numbers look like)."""
    return tuple(_scale(name, position, rows, titled) for position, name in enumerate(names))


def first_rows(file: BlockFile) -> list[BlockRow]:
    """The rows from which units are concluded: the first `SAMPLE_ROWS`."""
    return list(islice(file.rows(), SAMPLE_ROWS))


def _scale(name: str, position: int, rows: Sequence[BlockRow], titled: bool) -> tuple[Scale, Scale]:
    if name.lower() == WEIGHT:
        return Scale.WEIGHT, Scale.WEIGHT
    apparent = _apparent_scale(position, rows, titled)
    return Scale.CYCLES if titled else apparent, apparent


def _apparent_scale(position: int, rows: Sequence[BlockRow], titled: bool) -> Scale:
    pairs = [(row.numbers[position], row.instructions) for row in rows]
    numbers = [(number, length) for number, length in pairs if number is not None and number > 0]
    if not numbers:
        return Scale.CYCLES
    per_instruction = sorted(number / length for number, length in numbers)
    shares = all(number <= 1 for number, _ in numbers) and sum(number for number, _ in numbers) <= 1.01
    if shares and not titled and per_instruction[0] < FASTEST:
        return Scale.WEIGHT
    fast = per_instruction[int(len(per_instruction) * _FASTEST_SHARE)]
    return Scale.HUNDREDTHS if fast > SLOWEST_OF_FAST else Scale.CYCLES


CHUNK = 2000  # rows held at a time
PREVIEW_ROWS = 12  # rows that a preview repeats
FAILED = "-1.0"

OnProgress = Callable[[int], None]
"""Called after each chunk with the number of rows read; raises in order to stop."""


@dataclass(frozen=True)
class BlockSetOptions:
    """How to read a file.

    `scales`: one per column, or one for all; None, or () for all, takes it from title or numbers.
    """

    broken: BrokenRows = BrokenRows.STOP
    scales: tuple[Scale | None, ...] | Scale = ()
    bounds: Bounds = field(default_factory=Bounds)


@dataclass
class ColumnFacts:
    """Number of answers and failures of a column, and the range of its numbers, converted to `scale`."""

    name: str
    scale: Scale
    looks: Scale
    """What the numbers look like."""
    answers: int = 0
    failures: int = 0
    least: float | None = None
    most: float | None = None

    def as_json(self) -> Json:
        facts = asdict(self)
        facts["numbers"] = facts.pop("answers")
        return facts

    def count(self, values: Sequence[Answer | None]) -> None:
        cycles = [value.cycles for value in values if value is not None and value.cycles is not None]
        self.answers += len(cycles)
        self.failures += sum(1 for value in values if value is not None and value.failure is not None)
        if cycles:
            self.least = min(cycles) if self.least is None else min(self.least, *cycles)
            self.most = max(cycles) if self.most is None else max(self.most, *cycles)


@dataclass
class BlockSetSummary:
    """What a file contains.

    `rows` can be stored, of which `duplicates` repeat an earlier block; `left_out` have problems,
    `empty` have no block.
    """

    file_name: str
    columns: tuple[ColumnFacts, ...]
    isa: str
    problems: Problems
    doubts: AnswersBelowBounds
    repeated: RepeatedBlocks
    broken: BrokenRows
    title: str
    notes: tuple[str, ...] = ()
    rows: int = 0
    left_out: int = 0
    empty: int = 0
    instructions: int = 0
    first: list[BlockRow] = field(default_factory=list)

    @property
    def acceptable(self) -> bool:
        """Whether the file can be imported: it has rows, and no problems unless broken rows are skipped."""
        return self.rows > 0 and (self.broken is BrokenRows.SKIP or not self.problems)

    @property
    def remarks(self) -> list[str]:
        """What the reader decided, and numbers that contradict each other."""
        return [*self.notes, *self.repeated.remarks()]

    def lines(self) -> list[str]:
        """The listed problems, one line each."""
        return [problem.line(self.file_name) for problem in self.problems.listed]

    def as_json(self) -> Json:
        """The preview of the file, for pages and the API."""
        return {
            "rows": self.rows,
            "title": self.title,
            "notes": self.remarks,
            **self._counts(),
            "columns": [column.as_json() for column in self.columns],
            "doubts": self.doubts.counts,
            "doubtful": [asdict(doubt) for doubt in self.doubts.listed],
            "first": [
                {"row": row.line, **BlockName(self.isa, row.code).as_json(), "numbers": list(row.numbers)}
                for row in self.first
            ],
        }

    def report(self) -> Json:
        """The part that is kept with the stored set."""
        return {
            **self._counts(),
            "duplicate_lines": self.repeated.lines,
            "notes": self.remarks,
            "scales": {column.name: column.scale.value for column in self.columns},
            "looks": {
                column.name: column.looks.value for column in self.columns if column.looks != column.scale
            },
            "doubts": [asdict(doubt) for doubt in self.doubts.listed],
            "doubt_counts": self.doubts.counts,
        }

    def _counts(self) -> Json:
        names = ("left_out", "empty", "instructions")
        problems = [asdict(problem) for problem in self.problems.listed]
        counts = {name: getattr(self, name) for name in names}
        return {
            **counts,
            "duplicates": self.repeated.count,
            "problem_count": self.problems.count,
            "problems": problems,
        }


@dataclass(frozen=True)
class BlockChunk:
    """Consecutive rows of a file."""

    rows: Sequence[BlockRow]
    answers: Sequence[tuple[Answer | None, ...]]
    """Per row, one for each column that holds answers."""
    weights: Sequence[float | None]


def summarise(
    file: BinaryIO, file_name: str, options: BlockSetOptions, report: OnProgress | None = None
) -> BlockSetSummary:
    """Read a file to its end, or to its first broken row where `options.broken` is STOP.

    Args:
        file: CSV, at its beginning.
        file_name: Name of the file, for messages.
        options: How to read it.
        report: Called with the number of rows read.

    Returns:
        Its columns, counts, problems and first rows. Problems of the file are listed, not raised.

    Raises:
        ExchangeError: `options.scales` does not fit the file's columns.
    """
    summary, chunks = read_chunks(file, file_name, options)
    for _ in chunks:
        if report is not None:
            report(summary.rows + summary.left_out)
    return summary


def read_chunks(
    file: BinaryIO, file_name: str, options: BlockSetOptions
) -> tuple[BlockSetSummary, Iterator[BlockChunk]]:
    """(summary, complete once all chunks are consumed; chunks). Arguments and errors as of `summarise`."""
    blocks = open_blocks(file, file_name, options.broken)
    first = first_rows(blocks)
    names = () if blocks.columns is None else blocks.columns.names
    titled = blocks.columns is not None and blocks.columns.titled
    column_scales = options.scales or (None,) * len(names)
    if isinstance(column_scales, Scale):
        column_scales = (column_scales,) * len(names)
    if len(column_scales) != len(names):
        raise ExchangeError(
            f"{file_name} has {len(names)} columns behind the blocks, not {len(column_scales)}"
        )
    apparent = scales_of(names, first, titled=titled)
    scales = tuple(stated or default for stated, (default, _) in zip(column_scales, apparent, strict=True))
    if scales.count(Scale.WEIGHT) > 1:
        raise ExchangeError("a set has one column with weights at most")
    columns = tuple(
        ColumnFacts(WEIGHT if scale is Scale.WEIGHT else name, scale, looks)
        for name, scale, (_, looks) in zip(names, scales, apparent, strict=True)
    )
    summary = BlockSetSummary(
        file_name,
        columns,
        blocks.isa,
        blocks.problems,
        AnswersBelowBounds(options.bounds),
        RepeatedBlocks(),
        options.broken,
        blocks.title,
        blocks.notes,
    )
    return summary, _chunks(blocks, first, summary)


def _chunks(blocks: BlockFile, first: Sequence[BlockRow], summary: BlockSetSummary) -> Iterator[BlockChunk]:
    """The file's rows; updates the summary."""
    buffered = iter(first)
    remaining = blocks.rows()
    while True:
        rows = list(islice(buffered, CHUNK))
        rows += islice(remaining, CHUNK - len(rows))
        if not rows:
            summary.left_out = blocks.left_out
            summary.empty = blocks.empty
            return
        chunk = _chunk(rows, summary.columns)
        _count_rows(chunk, summary)
        yield chunk


def _chunk(rows: Sequence[BlockRow], columns: Sequence[ColumnFacts]) -> BlockChunk:
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
    return BlockChunk(rows, list(zip(*answers, strict=True)) if answers else [()] * len(rows), weights)


def _count_rows(chunk: BlockChunk, summary: BlockSetSummary) -> None:
    """Add a chunk's rows, duplicates and doubts to the summary."""
    summary.first += chunk.rows[: PREVIEW_ROWS - len(summary.first)]
    summary.rows += len(chunk.rows)
    summary.instructions += sum(row.instructions for row in chunk.rows)
    names = [column.name for column in summary.columns if column.scale is not Scale.WEIGHT]
    cycles = [tuple(None if answer is None else answer.cycles for answer in row) for row in chunk.answers]
    summary.repeated.add(names, chunk.rows, cycles)
    summary.doubts.compare(chunk.rows, zip(names, zip(*cycles, strict=True), strict=True))


@dataclass(frozen=True, slots=True)
class BlockLine:
    """A block to be written. `answers`: {index of the column: cycles, None for a failure}."""

    code: bytes
    weight: float | None
    origin: str
    answers: Mapping[int, float | None]


def write_block_set_csv(
    facts: Mapping[str, str],
    columns: Sequence[str],
    parts: Iterable[Iterable[BlockLine]],
    *,
    weights: bool,
    origins: bool,
) -> Iterator[str]:
    """A set as CSV text: comments, the title row `bb[,weight][,origin],TOOL …`, and a row per block.

    Args:
        facts: {label: text} for the comments above the table; empty texts are omitted.
        columns: Names of the tools.
        parts: Blocks in chunks; each yields a piece of text, so that a large set is never in memory at once.
        weights: Whether to write the column `weight`.
        origins: Whether to write the column `origin`.
    """
    yield head_of(**{label: text for label, text in facts.items() if text})
    extra = [*([WEIGHT] if weights else []), *([ORIGIN] if origins else [])]
    yield rows_text([["bb", *extra, *(cell(name) for name in columns)]])
    for part in parts:
        yield rows_text(
            [
                block.code.hex(),
                *([_cell(block.weight)] if weights else []),
                *([cell(block.origin)] if origins else []),
                *(_answer(block, place) for place in range(len(columns))),
            ]
            for block in part
        )


def _answer(block: BlockLine, place: int) -> str:
    if place not in block.answers:
        return ""
    cycles = block.answers[place]
    return FAILED if cycles is None else _cell(cycles)


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
