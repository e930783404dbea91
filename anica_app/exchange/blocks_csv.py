"""Basic-block sets as CSV, read row by row: see docs/formats.md.

    bb,llvm-mca 13,osaca        a title row: machine code in hexadecimal digits or assembly, a column per tool
    4801d8,1.03,-1.0            cycles per execution; -1: the tool failed; empty: nobody asked it

    4801d8,126.00               BHive's way: no title row, machine code, and one number

Lines ahead of the table that begin with # are skipped: our own files say there where they come from.

What the one number means is found out by `block_scales`. Rows are read as they are asked for: a file of any
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

from anica_app.core.answers import Answer, Failure
from inference.exchange.experiment_columns import COLUMN_LIMIT
from inference.exchange.problems import Problems, excerpt
from inference.isa.aarch64.recognising import NOT_SUPPORTED, looks_like_aarch64
from inference.isa.x86.blocks import BlockError, block_of_text, mnemonics_of
from inference.isa.x86.blocks.reading import TITLES

ROW_LIMIT = 400_000  # rows are not held, but stored in one transaction
WEIGHT = "weight"
THE_NUMBER = "cycles"
"""What the one column of a file without a title row is called, unless it holds weights."""
HIGHEST = 1e9  # cycles
NAME_LENGTH = 200
HEADER_IS = "the title row is bb,NAME,NAME …, a column per tool"

_HEX = re.compile(r"(?:[0-9a-f]{2})+")
_LOOKS_HEX = re.compile(r"[0-9a-f]+")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]{1,4})?")
_UNTITLED = re.compile(r'"?(?:[0-9a-f]{2})*"?\s*,\s*-?[0-9.]+(?:e[+-]?[0-9]+)?\s*', re.IGNORECASE)
_FAILED = Answer(failure=Failure.NO_NUMBER)


class Broken(StrEnum):
    """What to do at a row that cannot be read."""

    STOP = "stop"
    """The file is refused; problems are listed up to the first row that is broken."""
    SKIP = "skip"
    """It is left out and reported; the others come in."""


class Scale(StrEnum):
    """What the numbers of a column are."""

    CYCLES = "cycles"
    """Cycles per execution of the block."""
    HUNDREDTHS = "hundredths"
    """Cycles of a hundred executions, as in BHive's files."""
    WEIGHT = "weight"
    """No answer at all: how often the block ran."""


@dataclass(frozen=True)
class Columns:
    """The columns behind the blocks, in their order; `titled`: whether the first row says so."""

    names: tuple[str, ...]
    titled: bool


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One row: its line (from 1), the block, the text if the file had assembly, and the numbers as written.

    `mnemonics`: one per instruction. `numbers` has one entry per column: the number, -1 for a failure, None
    where the cell is empty.
    """

    line: int
    code: bytes
    text: str
    mnemonics: tuple[str, ...]
    numbers: tuple[float | None, ...]

    @property
    def instructions(self) -> int:
        """How many there are."""
        return len(self.mnemonics)


@dataclass
class BlockFile:
    """A CSV file with basic blocks, read once from its beginning.

    `problems` gains what is wrong with rows; where `broken` is STOP, no row follows the first such one.
    `columns` is None for a file whose title row cannot be used.
    """

    file: BinaryIO
    broken: Broken = Broken.SKIP
    problems: Problems = field(default_factory=Problems)
    columns: Columns | None = None
    read: int = 0
    """Rows met so far, broken ones among them, the title row not."""
    left_out: int = 0
    """Rows with problems."""

    def __post_init__(self) -> None:
        # What is no UTF-8 shows up in its cell, so that the row can be told.
        text = io.TextIOWrapper(self.file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self._head, lines = _behind_head(text)
        self._records = csv.reader(lines, strict=True)
        self._waiting: tuple[int, list[str]] | None = None
        first = self._next()
        if first is None:
            self.problems.add("the file has no row", HEADER_IS)
        elif _is_title(first[1]):
            self.columns = self._titles(*first)
        else:
            self.columns = Columns((THE_NUMBER,) * (len(first[1]) - 1), titled=False)
            self._waiting = first
            if len(first[1]) > 2:
                self.problems.add(
                    f"{len(first[1])} columns and no title row", HEADER_IS, row=first[0], column="bb"
                )
                self.columns = None

    def rows(self) -> Iterator[BlockRow]:
        """The readable rows, in their order; `ROW_LIMIT` at most."""
        if self.columns is None:
            return
        while not (self.problems and self.broken is Broken.STOP):
            record, self._waiting = self._waiting or self._next(), None
            if record is None:
                return
            self.read += 1
            if self.read > ROW_LIMIT:
                self.problems.add(f"more than {ROW_LIMIT:,} rows", "split the file", row=record[0])
                self.left_out += 1
                return
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
                self.problems.add(
                    f"the CSV cannot be read here: {error}",
                    "fields with commas or line breaks are put in double quotes, a quote inside is doubled",
                    row=line,
                )
                self.read += 1
                self.left_out += 1
                if self.broken is Broken.STOP:
                    return None
                continue
            if any(cell.strip() for cell in cells):
                return line, cells

    def _titles(self, line: int, cells: Sequence[str]) -> Columns | None:
        names = tuple(cell.strip() for cell in cells[1:])
        before = self.problems.count
        if len(names) > COLUMN_LIMIT:
            self.problems.add(f"{len(names)} columns, where {COLUMN_LIMIT} are the most", HEADER_IS, row=line)
            return None
        for number, name in enumerate(names, start=2):
            if fault := _fault_of_name(name) or ("occurs twice" if names.count(name) > 1 else ""):
                self.problems.add(
                    f"the title {excerpt(name)} of column {number} {fault}", HEADER_IS, row=line
                )
        return Columns(names, titled=True) if self.problems.count == before else None

    def _row(self, line: int, cells: list[str]) -> BlockRow | None:
        assert self.columns is not None
        wanted = len(self.columns.names) + 1
        if len(cells) != wanted:
            self.problems.add(
                f"{len(cells)} fields where {wanted} are expected",
                "put assembly with commas in double quotes",
                row=line,
            )
            return None
        found = self._block(line, cells[0])
        numbers = tuple(
            self._number(line, name, cell) for name, cell in zip(self.columns.names, cells[1:], strict=True)
        )
        return None if found is None else BlockRow(line, *found, numbers)

    def _block(self, line: int, cell: str) -> tuple[bytes, str, tuple[str, ...]] | None:
        """(code, text, mnemonics) of a block, None after noting what is wrong."""
        digits = cell.strip().lower()
        try:
            code, text = _code_of(digits), ""
            if not digits:
                raise BlockError("the block is empty")
            if not code and _LOOKS_HEX.fullmatch(digits):
                raise BlockError(f"machine code has two hexadecimal digits per byte; these are {len(digits)}")
            if not code:
                text = _readable(cell).strip().replace("\r\n", "\n").replace(";", "\n")
                code = block_of_text(text).code
            return code, text, mnemonics_of(code)
        except BlockError as error:
            foreign = looks_like_aarch64(cell.replace(";", "\n"))
            self.problems.add(
                f"{excerpt(cell.strip())}: {NOT_SUPPORTED if foreign else error}",
                "machine code in hexadecimal digits, or assembly in Intel syntax, is expected",
                row=line,
                column="bb",
            )
            return None

    def _number(self, line: int, name: str, cell: str) -> float | None:
        """The number of a cell; None for an empty one, and after noting what is wrong."""
        text = cell.strip().lower()
        if not text:
            return None
        if not (_is_plain(text) or _NUMBER.fullmatch(text)):
            right = "use a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else "cycles are expected"
            self.problems.add(f"{excerpt(cell)} is not a number", right, row=line, column=name)
        elif (value := float(text)) == -1.0 or 0 <= value <= HIGHEST:
            return value
        else:
            self.problems.add(
                f"{excerpt(cell)} can be no number of cycles",
                f"0 to {HIGHEST:g}, or -1 where the tool failed, is expected",
                row=line,
                column=name,
            )
        return None


def answer_of(number: float | None, scale: Scale) -> Answer | None:
    """What a cell says: cycles per execution, a failure, or None for nothing."""
    if number is None:
        return None
    if number < 0:
        return _FAILED
    return Answer(cycles=number / 100 if scale is Scale.HUNDREDTHS else number)


def is_block_csv(beginning: bytes) -> bool:
    """Whether a file that begins so is of this format, be it a faulty one."""
    text = beginning[:8192].decode("utf-8-sig", errors="replace").lstrip()
    if not text or text[0] in "{[<":
        return False
    _, lines = _behind_head(text.splitlines())
    first = next(lines, "")
    return first.partition(",")[0].strip().strip('"').lower() in TITLES or bool(_UNTITLED.fullmatch(first))


def _behind_head(lines: Iterable[str]) -> tuple[int, Iterator[str]]:
    """How many lines of comments come first, and all lines behind them."""
    rest = iter(lines)
    head = 0
    for line in rest:
        if not line.startswith("#"):
            return head, chain([line], rest)
        head += 1
    return head, iter(())


def _is_title(cells: Sequence[str]) -> bool:
    first = cells[0].strip().lower()
    return first in TITLES or (not _HEX.fullmatch(first) and not _numbers(cells[1:]))


def _numbers(cells: Sequence[str]) -> bool:
    return all(not cell.strip() or _NUMBER.fullmatch(cell.strip().lower()) for cell in cells)


def _code_of(digits: str) -> bytes:
    """Machine code from two hexadecimal digits per byte without blanks; nothing from anything else."""
    try:
        code = bytes.fromhex(digits)
    except ValueError:
        return b""
    return code if 2 * len(code) == len(digits) else b""


def _is_plain(text: str) -> bool:
    """Whether it is a number of digits and a point, as nearly all cells are: cheaper than the pattern."""
    digits = text.replace(".", "", 1)
    return digits.isascii() and digits.isdigit()


def _readable(cell: str) -> str:
    if not cell.isascii() and any("\udc80" <= char <= "\udcff" for char in cell):
        raise BlockError("these bytes are no UTF-8")
    return cell


def _fault_of_name(name: str) -> str:
    """What is wrong with the name of a tool, "" where nothing is."""
    if not name:
        return "is empty"
    if len(name) > NAME_LENGTH:
        return f"has {len(name)} characters, of {NAME_LENGTH} at most"
    if not name.isprintable():
        return "holds characters that cannot be printed"
    # A spreadsheet would take such a cell for a formula when the set is exported again.
    return "begins with a sign of a formula" if name[0] in "=+-@" else ""
