"""Tables of instructions with titles, as VTune prints and copies them: address, source line, assembly.

Columns are separated by tabs or commas, or stand below dashes. The samples of an instruction are the number
in the first column behind the assembly.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from inference.isa.code.annotations import SourcePlace
from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines

_ASSEMBLY = ("assembly", "instruction")
_ADDRESS = ("address", "code location", "rva")
_SOURCE_LINE = ("source line", "line")
_MAX_LINES_BEFORE = 40  # of a text before its table's head
_DASHES = re.compile(r"-{2,}(?: +-{2,})+ *")  # the line below a head of columns: `-----  ---`
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)
_METRIC = re.compile(r"((?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:%|[mun]?s)?", re.IGNORECASE)
"""`1,234.5`, `3e-05`, `12.5%`, `1.2ms`."""

_BLOCK = re.compile(r"(Block \d+):?")

Cells = Callable[[str], Sequence[str]]
"""Divides a line into its cells."""


class _Columns(NamedTuple):
    assembly: int
    address: int
    source_line: int | None


def _listing_of_table(lines: NumberedLines, _is_foreign: IsForeign) -> Listing | None:
    for place, (_, line) in enumerate(lines[:_MAX_LINES_BEFORE]):
        lowered = line.lower()
        if not any(title in lowered for title in _ASSEMBLY) or not any(name in lowered for name in _ADDRESS):
            continue
        following = lines[place + 1][1] if place + 1 < len(lines) else ""
        cells = _cells_below(line, following)
        if cells is None or (columns := _columns(cells(line))) is None:
            continue
        if rows := list(_rows(lines[place + 1 :], cells, columns)):
            headings = sum(bool(text.strip()) for _, text in lines) - len(rows)
            return Listing(rows, Counter({"heading": headings} if headings else {}), [], [])
    return None


def _cells_below(titles: str, following: str) -> Cells | None:
    """How the lines below these titles are divided; None for prose."""
    if "\t" in titles:
        return lambda line: line.split("\t")
    if _DASHES.fullmatch(following):
        starts = [match.start() for match in re.finditer(r"-+", following)]
        spans = list(zip(starts, [*starts[1:], None], strict=True))
        return lambda line: [line[start:end] for start, end in spans]
    if "," in titles:
        return lambda line: next(csv.reader([line]), [])
    return None


def _columns(titles: Sequence[str]) -> _Columns | None:
    names = [title.strip().strip('"').lower() for title in titles]
    assembly = next((at for at, name in enumerate(names) if name in _ASSEMBLY), None)
    address = next((at for at, name in enumerate(names) if name in _ADDRESS), None)
    if assembly is None or address is None:
        return None
    return _Columns(
        assembly, address, next((at for at, name in enumerate(names) if name in _SOURCE_LINE), None)
    )


def _rows(lines: Sequence[tuple[int, str]], cells: Cells, columns: _Columns) -> Iterator[ListedLine]:
    """The rows of a table, as lines of a listing: with samples, and the source line where a column has it."""
    for number, line in lines:
        row = [cell.strip() for cell in cells(line)]
        if len(row) <= max(columns.assembly, columns.address):
            continue
        address, text = _HEX.fullmatch(row[columns.address]), row[columns.assembly]
        if address is None or not text:
            continue
        place = int(address[1], 16)
        if block := _BLOCK.fullmatch(text):
            yield ListedLine(number, place, label=block[1])
            continue
        samples = next((_number(cell) for cell in row[columns.assembly + 1 :] if cell), None)
        source = None
        if columns.source_line is not None and row[columns.source_line].isdigit():
            source = SourcePlace(line=int(row[columns.source_line]))
        yield ListedLine(number, place, text=text, count=samples, source=source)


def _number(cell: str) -> float | None:
    match = _METRIC.fullmatch(cell)
    return None if match is None else float(match[1].replace(",", ""))


PROFILE_TABLES = ListingKind(
    "VTune", re.compile(r"\b(?:assembly|instruction)\b", re.IGNORECASE), _listing_of_table
)
