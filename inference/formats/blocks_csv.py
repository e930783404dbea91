"""Basic-block sets as CSV, read row by row: see docs/formats.md.

    bb,llvm-mca 13,osaca        a title row: machine code in hexadecimal digits or assembly, a column per tool
    4801d8,1.03,-1.0            cycles per execution; -1: the tool failed; empty: no answer

    4801d8,126.00               BHive's way: no title row, machine code, and one number or none

Cells may be separated by tabs or semicolons as well. Lines above the table that begin with # are skipped,
except for `# instruction set: NAME`; without it, blocks are x86-64. Rows without a block are skipped and
counted.

`block_sets` concludes what the one number of an untitled column means. Rows are read lazily: a file of any
length takes the memory of one row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import BinaryIO

from inference.core.texts import ORIGIN_LIMIT
from inference.formats.block_cells import (
    HIGHEST,
    block_of_cell,
    code_of,
    fault_of_name,
    is_first_cell,
    is_number,
    is_title_row,
    separator_of,
)
from inference.formats.experiment_csv import COLUMN_LIMIT
from inference.formats.problems import Problems, excerpt
from inference.formats.quoting import plain_text
from inference.isa.blocks import TITLES, BlockError, isa_of_fields, mnemonics_of
from inference.isa.targets import names_with_blocks
from inference.isa.targets.recognition import isa_of_text
from inference.predictors.protocol import Answer, Failure

TITLE = "basic blocks (CSV)"
ROW_LIMIT = 1_000_000  # rows are not held, but stored in one transaction
WEIGHT = "weight"
UNTITLED = "cycles"
"""Name of the column of a file without a title row, unless it holds weights."""

HEADER_HINT = "the title row is bb,NAME,NAME …, a column per tool"
ORIGIN = "origin"
"""Title of the column with the place that a block is from: a program, function and address."""

_ISA = re.compile(r"# ?instruction set: (\S.*)")
_UNTITLED = re.compile(r"\s*-?[0-9.]+(?:e[+-]?[0-9]+)?\s*", re.IGNORECASE)


class BrokenRows(StrEnum):
    """What happens at a row that cannot be read."""

    STOP = "stop"
    """The file is refused; problems are listed up to the first row that is broken."""
    SKIP = "skip"
    """The row is left out and reported; the others are read."""


class Scale(StrEnum):
    """Unit of a column's numbers."""

    CYCLES = "cycles"
    """Cycles per execution of the block."""
    HUNDREDTHS = "hundredths"
    """Cycles of a hundred executions, as in BHive's files."""
    WEIGHT = "weight"
    """How often the block ran; no answer of a tool."""


SCALE_LABELS = {
    Scale.CYCLES: "cycles per execution",
    Scale.HUNDREDTHS: "cycles of a hundred executions",
    Scale.WEIGHT: "how often a block ran",
}


@dataclass(frozen=True)
class BlockColumns:
    """The columns with numbers, in their order.

    Attributes:
        titled: Whether there is a title row.
        places: Index of each column's cell in a row.
        origin: Index of the cell with the origin, if any.
        cells: Number of cells in a row.
    """

    names: tuple[str, ...]
    titled: bool
    places: tuple[int, ...]
    cells: int
    origin: int | None = None


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One row: its line (from 1), the block, the text if the file had assembly, and the numbers as written.

    Attributes:
        numbers: One per column, -1 for a failure, None for an empty cell.
        origin: "" where the file has none.
    """

    line: int
    code: bytes
    text: str
    mnemonics: tuple[str, ...]
    numbers: tuple[float | None, ...]
    origin: str = ""

    @property
    def instructions(self) -> int:
        return len(self.mnemonics)


@dataclass
class BlockFile:
    """A CSV file with basic blocks, read once from its beginning.

    Problems of rows are added to `problems`; where `broken` is STOP, reading ends at the first. `columns` is
    None where the title row or the instruction set cannot be used.
    """

    file: BinaryIO
    broken: BrokenRows = BrokenRows.SKIP
    problems: Problems = field(default_factory=Problems)
    columns: BlockColumns | None = None
    isa: str = ""
    """The instruction set of all blocks."""
    read: int = 0
    """Rows read so far, broken ones included, without the title row."""
    left_out: int = 0
    """Rows with problems."""
    empty: int = 0
    """Rows without a block."""
    title: str = TITLE
    notes: tuple[str, ...] = ()  # what a reader decided, for the report of the import

    def __post_init__(self) -> None:
        # Bytes that are no UTF-8 survive in their cell, so that the problem can name the row.
        text = io.TextIOWrapper(self.file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self._head, first_line, lines, isa = _skip_head(text)
        self.isa = isa_of_fields({"isa": isa})
        self._records = csv.reader(lines, strict=True, delimiter=separator_of(first_line))
        self._waiting: tuple[int, list[str]] | None = None
        first = self._next()
        if first is None:
            self.problems.add("the file has no row", HEADER_HINT)
        elif is_title_row(first[1]):
            self.columns = self._titles(*first)
        else:
            cells = len(first[1])
            self.columns = BlockColumns((UNTITLED,) * (cells - 1), False, tuple(range(1, cells)), cells)
            self._waiting = first
            if cells > 2:
                self.problems.add(f"{cells} columns and no title row", HEADER_HINT, row=first[0], column="bb")
                self.columns = None
        if self.isa not in (supported := names_with_blocks()):
            right = f"its blocks can be of {', '.join(supported)}"
            self.problems.add(f"blocks of {excerpt(self.isa)} are not supported yet", right)
            self.columns = None

    def rows(self) -> Iterator[BlockRow]:
        """The readable rows, in their order; at most `ROW_LIMIT`."""
        if self.columns is None:
            return
        while not (self.problems and self.broken is BrokenRows.STOP):
            record, self._waiting = self._waiting or self._next(), None
            if record is None:
                return
            self.read += 1
            if self.read > ROW_LIMIT:
                self.problems.add(f"more than {ROW_LIMIT:,} rows", "split the file", row=record[0])
                self.left_out += 1
                return
            if not record[1][0].strip():
                self.empty += 1
                continue
            before = self.problems.count
            row = self._row(*record)
            if row is not None and self.problems.count == before:
                yield row
            else:
                self.left_out += 1

    def _next(self) -> tuple[int, list[str]] | None:
        """(line it begins at, cells) of the next record that is not blank, None at the end."""
        while True:
            line = self._head + self._records.line_num + 1
            try:
                cells = next(self._records)
            except StopIteration:
                return None
            except csv.Error as error:
                right = (
                    "fields with commas or line breaks are put in double quotes, a quote inside is doubled"
                )
                self.problems.add(f"the CSV cannot be read here: {error}", right, row=line)
                self.read += 1
                self.left_out += 1
                if self.broken is BrokenRows.STOP:
                    return None
                continue
            if any(cell.strip() for cell in cells):
                return line, cells

    def _titles(self, line: int, cells: Sequence[str]) -> BlockColumns | None:
        """The columns by their titles; None, with problems noted, for a missing or repeated one."""
        titles = [cell.strip() for cell in cells]
        origin = next((at for at, title in enumerate(titles) if at and title.lower() == ORIGIN), None)
        places = tuple(at for at in range(1, len(titles)) if at != origin)
        names = tuple(titles[at] for at in places)
        before = self.problems.count
        if len(names) > COLUMN_LIMIT:
            fault = f"{len(names)} columns, where {COLUMN_LIMIT} are the most"
            self.problems.add(fault, HEADER_HINT, row=line)
            return None
        for at, name in zip(places, names, strict=True):
            if fault := fault_of_name(name) or ("occurs twice" if names.count(name) > 1 else ""):
                title = f"the title {excerpt(name)} of column {at + 1}"
                self.problems.add(f"{title} {fault}", HEADER_HINT, row=line)
        columns = BlockColumns(names, True, places, len(titles), origin)
        return columns if self.problems.count == before else None

    def _row(self, line: int, cells: list[str]) -> BlockRow | None:
        assert self.columns is not None
        columns = self.columns
        if len(cells) != columns.cells:
            fault = f"expected {columns.cells} fields, found {len(cells)}"
            self.problems.add(fault, "put assembly with commas in double quotes", row=line)
            return None
        block = self._block(line, cells[0])
        number_columns = zip(columns.names, columns.places, strict=True)
        numbers = tuple(self._number(line, name, cells[at]) for name, at in number_columns)
        origin = "" if columns.origin is None else self._origin(line, cells[columns.origin])
        return None if block is None else BlockRow(line, *block, numbers, origin)

    def _origin(self, line: int, cell: str) -> str:
        text = plain_text(cell.strip())
        if len(text) > ORIGIN_LIMIT or not text.isprintable():
            fault = f"{excerpt(text)} cannot be an origin"
            right = f"printable text of {ORIGIN_LIMIT} characters at most is expected"
            self.problems.add(fault, right, row=line, column=ORIGIN)
        return text

    def _block(self, line: int, cell: str) -> tuple[bytes, str, tuple[str, ...]] | None:
        """(code, text, mnemonics) of a block, None after noting what is wrong."""
        try:
            code, text = block_of_cell(cell, self.isa)
            return code, text, mnemonics_of(code, self.isa)
        except BlockError as error:
            actual = isa_of_text(cell.replace(";", "\n"), self.isa)
            foreign = f"assembly of {actual}: write the line `# instruction set: {actual}` above the table"
            fault = f"{excerpt(cell.strip())}: {error if actual == self.isa else foreign}"
            right = "machine code in hexadecimal digits, or assembly in Intel syntax, is expected"
            self.problems.add(fault, right, row=line, column="bb")
            return None

    def _number(self, line: int, name: str, cell: str) -> float | None:
        """The number of a cell; None for an empty one, and after noting what is wrong."""
        text = cell.strip().lower()
        if not text:
            return None
        if not is_number(text):
            fault = "is not a number"
            right = "use a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else "cycles are expected"
        elif (value := float(text)) == -1.0 or 0 <= value <= HIGHEST:
            return value
        else:
            fault = "can be no number of cycles"
            right = f"0 to {HIGHEST:g}, or -1 where the tool failed, is expected"
        self.problems.add(f"{excerpt(cell)} {fault}", right, row=line, column=name)
        return None


def answer_of(number: float | None, scale: Scale) -> Answer | None:
    """The answer in a cell: cycles per execution, a failure for a negative number, None for an empty cell."""
    if number is None:
        return None
    if number < 0:
        return Answer(failure=Failure.NO_NUMBER)
    return Answer(cycles=number / 100 if scale is Scale.HUNDREDTHS else number)


def is_block_csv(beginning: bytes) -> bool:
    """Whether a file that begins with these bytes is of this format, even if it has problems."""
    text = beginning[:8192].decode("utf-8-sig", errors="replace").lstrip()
    if not text or text[0] in "{[<":
        return False
    _, first, *_ = _skip_head(text.splitlines())
    separator = separator_of(first)
    cell, _, numbers = first.partition(separator)
    name = cell.strip().strip('"').strip().lower()
    if name in TITLES:
        return True
    if not numbers.strip():  # one column: not every word of letters from a to f
        return bool(code_of(name)) and any(char.isdigit() for char in name)
    return is_first_cell(cell) and bool(_UNTITLED.fullmatch(numbers))


def _skip_head(lines: Iterable[str]) -> tuple[int, str, Iterator[str], str]:
    """(comment and blank lines, the table's first line, all lines from there on, instruction set).

    The instruction set is the one that the comments name, "" for none.
    """
    remaining = iter(lines)
    head, isa = 0, ""
    for line in remaining:
        if line.strip() and not line.startswith("#"):
            return head, line, chain([line], remaining), isa
        head += 1
        if named := _ISA.fullmatch(line.strip()):
            isa = named[1]
    return head, "", iter(()), isa
