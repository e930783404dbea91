"""Tables of instructions, as VTune prints and copies them: address, source line, assembly, samples.

Columns are separated by tabs or commas, or stand below dashes. A part of a table that is separated by tabs is
read without its titles. Tables of source lines between those of instructions are skipped.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from inference.isa.code.annotations import SourcePlace
from inference.isa.code.block import dropped_line
from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines
from inference.isa.code.source import without_drawings
from inference.isa.x86.assembly.skipped_lines import classify
from inference.isa.x86.assembly.statements import begins_instruction

_ASSEMBLY = ("assembly", "instruction")
_ADDRESS = ("address", "code location", "rva")
_SOURCE_LINE = ("source line", "line")
_TITLES = re.compile(r"assembly|instruction|address|code location|source", re.IGNORECASE)
_SOURCE_TITLES = re.compile(  # bounded: a line of at most 1,000 characters
    r"\bsource line\b.*\bsource\b", re.IGNORECASE
)
_DASHES = re.compile(r"-{2,}(?: +-{2,})+ *")  # the line below a head of columns: `-----  ---`
_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)
_METRIC = re.compile(r"((?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:%|[mun]?s)?", re.IGNORECASE)
"""`1,234.5`, `3e-05`, `12.5%`, `1.2ms`."""

_BLOCK = re.compile(r"(Block \d+):?")

Cells = Callable[[str], Sequence[str]]
"""Divides a line into its cells."""


class _Columns(NamedTuple):
    """Indices of columns. `samples`: of the samples of the instruction itself, if there are some."""

    assembly: int
    address: int
    source_line: int | None
    samples: int


_USUAL = _Columns(2, 0, 1, 3)
"""Of VTune's tables with addresses and source lines."""

_WITHOUT_SOURCE = _Columns(1, 0, None, 2)


def _read(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    """The rows of all tables in a text; what stands between them are headings or prose."""
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    lost: list[tuple[int, str]] = []
    skipped: Counter[str] = Counter()
    cells: Cells | None = None
    columns: _Columns | None = _USUAL
    for place, (number, raw) in enumerate(lines):
        line = without_drawings(raw[:_MAX_LINE_LENGTH])
        if not line.strip():
            continue
        following = lines[place + 1][1] if place + 1 < len(lines) else ""
        if _TITLES.search(line) and (division := _cells_below(line, following)):
            titled = _columns(division(line))
            is_source = titled is None and _SOURCE_TITLES.search(line) is not None
            if titled is not None or is_source:
                cells, columns = division, titled
                skipped["heading"] += 1
                continue
        divide = cells or (_by_tabs if "\t" in line else None)
        if columns is None:
            skipped["source line"] += 1
        elif divide is not None and (entry := _entry(number, divide(line), columns)):
            entries.append(entry)
        elif divide is not None and any(map(begins_instruction, divide(line))):
            lost.append((number, line))
        else:
            other_lines.append((number, line))
    kinds, dropped = classify(other_lines, is_foreign)
    dropped += [dropped_line(number, line, "has no address") for number, line in lost]
    if sum(bool(entry.text) for entry in entries) <= len(dropped):
        return None
    return Listing(entries, skipped + kinds, dropped)


def _by_tabs(line: str) -> Sequence[str]:
    return line.split("\t")


def _cells_below(titles: str, following: str) -> Cells | None:
    """How the lines below these titles are divided; None for prose."""
    if "\t" in titles:
        return _by_tabs
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
    source_line = next((at for at, name in enumerate(names) if name in _SOURCE_LINE), None)
    metrics = range(assembly + 1, len(names))
    samples = next((at for at in metrics if "self" in names[at]), assembly + 1)
    return _Columns(assembly, address, source_line, samples)


def _entry(number: int, row: Sequence[str], columns: _Columns) -> ListedLine | None:
    """A row as a line of a listing, with samples and source line where columns have them; None for others."""
    cells = [cell.strip() for cell in row]
    if columns is _USUAL and len(cells) > 1 and (begins_instruction(cells[1]) or _BLOCK.fullmatch(cells[1])):
        columns = _WITHOUT_SOURCE
    if len(cells) <= max(columns.assembly, columns.address):
        return None
    address, text = _HEX.fullmatch(cells[columns.address]), cells[columns.assembly]
    if address is None:
        return None
    place = int(address[1], 16)
    if block := _BLOCK.fullmatch(text):
        return ListedLine(number, label=block[1])
    if not begins_instruction(text):
        return None
    source, samples = None, cells[columns.samples : columns.samples + 1]
    if columns.source_line is not None and cells[columns.source_line].strip("0").isdigit():
        source = SourcePlace(line=int(cells[columns.source_line]))
    return ListedLine(number, place, text=text, count=_number(samples[0]) if samples else None, source=source)


def _number(cell: str) -> float | None:
    match = _METRIC.fullmatch(cell)
    return None if match is None else float(match[1].replace(",", ""))


PROFILE_TABLES = ListingKind(
    "VTune",
    re.compile(
        r"\b(?:assembly|instruction)\b|^[ \t]*0x[0-9a-f]+\t(?:\d*\t)?[a-z]", re.IGNORECASE | re.MULTILINE
    ),
    _read,
)
