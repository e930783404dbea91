"""Go's disassembler and the assembly of its compiler, of which the bytes are read.

| command | line |
|---|---|
| go tool objdump | `  main.go:9  0x480a83  f20f1014cf  MOVSD_XMM 0(DI)(CX*8), X2`; -S: no place |
| go build -gcflags=-S | `  0x0023 00035 (main.go:9)  MOVSD  (DI)(CX*8), X2`; below `  0x0020 8d 51 01 f2 …` |

The text is in Plan 9's syntax. The disassembler knows no VEX prefix: it shows `MOVL $-0x2e76b73e, CX` for the
bytes of an FMA and of the next instruction. So the bytes of following lines are decoded together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from iced_x86 import Decoder

from inference.isa.code.annotations import SourcePlace
from inference.isa.code.block import BlockError, DroppedLine, dropped_line, line_numbers
from inference.isa.code.listing_reader import with_source
from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines
from inference.isa.x86.assembly.mnemonics import att_readings
from inference.isa.x86.assembly.skipped_lines import classify
from inference.isa.x86.forms import MNEMONICS

_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_ROW = re.compile(
    r"\s*(?:(?P<file>[^\s:]{0,200}):(?P<line>-1|\d{1,9})\s+)?0x(?P<address>[0-9a-f]{1,16})\s+"
    r"(?P<bytes>(?:[0-9a-f]{2}){1,40})\s+(?P<text>[A-Z?]\S*(?:\s.*)?)"
)
_TEXT = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*TEXT (?P<label>\S.*)\(SB\)(?:\s.*)?"
)
_COMPILED = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*0x(?P<address>[0-9a-f]{4,16}) \d{5,20} "
    r"\((?:(?P<file>[^\t]{0,500}):(?P<line>\d{1,9})|<unknown line number>)\)\s+(?P<text>\S.*)"
)
_DUMP = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*0x(?P<address>[0-9a-f]{4,16})(?P<bytes>(?: [0-9a-f]{2}){1,16})(?:\s{2,}.*)?"
)
_SYMBOL = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?P<label>\S.*) S(?P<kind>[A-Z]+)\b.*\bsize=\d+.*"
)
_RELOCATION = re.compile(r"\s*rel \d+\+\d+ t=.*")
_PSEUDO = ("TEXT", "PCDATA", "FUNCDATA", "NOP", "PCALIGN")
_CODE = re.compile(  # bounded: a line of at most 1,000 characters
    r"0x[0-9a-f]{4,}\b|\b[A-Z]{2,}\w*\s+(?:\S+\s)?\S*\b(?:[A-D]X|[SD]I|[SB]P|R\d+|[XYZ]\d+)\b"
)
"""What source lines have not: an address, or an instruction with a register."""

_SUFFIX = re.compile(r"(?:_XMM|[BWLQ])$")
_WORD = 4
"""Bytes of each instruction of other processors."""

_LEAST_WORDS = 8  # that are no coincidence


class _Row(NamedTuple):
    number: int
    address: int
    text: str
    source: SourcePlace | None = None


@dataclass
class _Function:
    """Lines and bytes from one address on; `line` is that of its label."""

    label: str
    line: int
    start: int = 0
    rows: list[_Row] = field(default_factory=list)
    code: bytearray = field(default_factory=bytearray)

    @property
    def end(self) -> int:
        return self.start + len(self.code)


@dataclass
class _Read:
    """What is read of the functions: lines, data, and numbers of lines whose text is of other code."""

    lines: list[ListedLine] = field(default_factory=list)
    dropped: list[DroppedLine] = field(default_factory=list)
    contradictions: list[int] = field(default_factory=list)

    def add(self, function: _Function, base: int, *, is_compared: bool) -> None:
        """Decode a function at `base`."""
        self.lines.append(ListedLine(function.line, base, label=function.label))
        places = {row.address: row for row in function.rows}
        row, starts = function.rows[0], set[int]()
        for instruction in Decoder(64, bytes(function.code), ip=function.start):
            offset = instruction.ip - function.start
            row = places.get(instruction.ip) or max(
                (row_before for row_before in function.rows if row_before.address <= instruction.ip),
                default=row,
            )
            code = bytes(function.code[offset : offset + instruction.len])
            if instruction.is_invalid:
                self.dropped.append(dropped_line(row.number, row.text, "is no instruction"))
                continue
            starts.add(instruction.ip)
            if is_compared and not _may_be(row.text, MNEMONICS[instruction.mnemonic]):
                self.contradictions.append(row.number)
            self.lines.append(
                ListedLine(row.number, base + offset, code, row.text, source=row.source, is_own_syntax=True)
            )
        misplaced = (row.number for row in function.rows if row.address not in starts)
        self.contradictions += misplaced if is_compared else ()


def _read_objdump(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    functions: list[_Function] = []
    other_lines: list[tuple[int, str]] = []
    label = ""
    for number, raw in lines:
        line = raw[:_MAX_LINE_LENGTH]
        if heading := _TEXT.fullmatch(line):
            label = heading["label"]
        elif match := _ROW.fullmatch(line):
            address = int(match["address"], 16)
            if label or not functions or address != functions[-1].end:
                functions.append(_Function(label, number, address))
                label = ""
            source = SourcePlace(match["file"], int(match["line"])) if match["file"] else None
            functions[-1].rows.append(_Row(number, address, match["text"].strip(), source))
            functions[-1].code += bytes.fromhex(match["bytes"])
        elif line.strip():
            other_lines.append((number, line))
    listing = _listing(functions, other_lines, is_foreign, is_compared=True) if functions else None
    return listing if listing is not None and len(listing.dropped) < len(listing.lines) else None


class _CompilerReader:
    """Reads the compiler's lines in order: those of a function, and below them its bytes."""

    def __init__(self) -> None:
        self.functions: list[_Function] = []
        self.other_lines: list[tuple[int, str]] = []
        self.skipped: Counter[str] = Counter()
        self._is_data = False

    def read(self, number: int, line: str) -> None:
        """Read a line. Raises `BlockError` where bytes before it are missing."""
        if symbol := _SYMBOL.fullmatch(line):
            self._is_data = symbol["kind"] != "TEXT"
            if not self._is_data:
                self.functions.append(_Function(symbol["label"], number))
        elif match := _COMPILED.fullmatch(line):
            self._add_row(number, match)
        elif match := _DUMP.fullmatch(line):
            self._add_bytes(number, match)
        elif _RELOCATION.fullmatch(line):
            self.skipped["relocation"] += 1
        elif line.strip():
            self.other_lines.append((number, line))

    def _add_row(self, number: int, match: re.Match[str]) -> None:
        if not self.functions or self.functions[-1].code:
            self.functions.append(_Function("", number))
        text = match["text"].strip()
        if text.startswith(_PSEUDO):
            self.skipped[text.split(maxsplit=1)[0]] += 1
            return
        source = SourcePlace(match["file"], int(match["line"])) if match["file"] else None
        self.functions[-1].rows.append(_Row(number, int(match["address"], 16), text, source))

    def _add_bytes(self, number: int, match: re.Match[str]) -> None:
        if self._is_data:
            self.skipped["data"] += 1
            return
        end = self.functions[-1].end if self.functions else 0
        if not self.functions or int(match["address"], 16) != end:
            raise BlockError(
                "lines before these bytes are missing, which go build -gcflags=-S prints", number
            )
        self.functions[-1].code += bytes.fromhex(match["bytes"])


def _read_compiled(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    reader = _CompilerReader()
    for number, raw in lines:
        reader.read(number, raw[:_MAX_LINE_LENGTH])
    functions = [function for function in reader.functions if function.rows or function.code]
    for function in functions:
        if not function.rows:
            raise BlockError("the lines of the function with these bytes are missing", function.line)
        last = function.rows[-1]
        if last.address >= function.end:
            raise BlockError(
                f"Go's assembly is read by its bytes, and those of {last.text[:40]} are missing: paste them "
                "with it, as go build -gcflags=-S prints them below each function",
                last.number,
            )
    return _listing(functions, reader.other_lines, is_foreign, reader.skipped) if functions else None


def _listing(
    functions: Sequence[_Function],
    other_lines: Sequence[tuple[int, str]],
    is_foreign: IsForeign,
    skipped: Counter[str] | None = None,
    *,
    is_compared: bool = False,
) -> Listing:
    """The functions as a listing; those of the compiler begin at 0 each. Raises `BlockError`."""
    result = _Read()
    rows = [row for function in functions for row in function.rows]
    if len(rows) >= _LEAST_WORDS and not any(row.address % _WORD for row in rows):
        raise BlockError(
            "this is Go's assembly of a processor whose instructions have 4 bytes each: not x86-64"
        )
    for function in functions:
        result.add(function, function.start, is_compared=is_compared)
    kinds, dropped = classify(other_lines, is_foreign)
    dropped_lines = {line.line for line in dropped}
    dropped += [
        dropped_line(number, line, "looks like code")
        for number, line in other_lines
        if number not in dropped_lines and _CODE.search(line)
    ]
    notes = []
    if numbers := sorted(set(result.contradictions)):
        notes.append(
            f"the text in {line_numbers(numbers)} is another instruction than its bytes: the bytes count"
        )
    lines = with_source(result.lines, [row for row in other_lines if row[0] not in dropped_lines])
    return Listing(lines, kinds + (skipped or Counter()), [*dropped, *result.dropped], notes)


def _may_be(text: str, mnemonic: str) -> bool:
    """Whether a name of Plan 9's may stand for an instruction; True for names that are not known."""
    names = set(_names(text.split(maxsplit=1)[0]))
    return not names or any(mnemonic.startswith(name) for name in names)


def _names(word: str) -> Iterator[str]:
    for name in (word, _SUFFIX.sub("", word)):
        yield from (reading.mnemonic for reading in att_readings(name.lower()))


_OBJDUMP_MARK = re.compile(
    r"^[ \t]*TEXT \S.*\(SB\)|^[ \t]*(?:[^\s:]{1,200}:\d+[ \t]+)?0x[0-9a-f]+\t+(?:[0-9a-f]{2})+\t+[A-Z?]"
    r"|^[ \t]*[^\s:]{1,200}:\d+[ \t]+0x[0-9a-f]+[ \t]+(?:[0-9a-f]{2})+[ \t]+[A-Z?]",
    re.MULTILINE,
)
GO_OBJDUMP = ListingKind("go tool objdump", _OBJDUMP_MARK, _read_objdump)
GO_COMPILER = ListingKind(
    "go build -gcflags=-S",
    re.compile(r"^[ \t]*0x[0-9a-f]{4,} \d{5,} \([^\t\n]{0,500}\)[ \t]", re.MULTILINE),
    _read_compiled,
)
