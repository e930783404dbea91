"""The kinds of listings of x86-64 that are read, in the order in which a text is compared with them."""

from __future__ import annotations

import re
from dataclasses import replace

from inference.isa.code.directives import is_undotted
from inference.isa.code.listing_reader import listing_of, with_source
from inference.isa.code.listings import (
    IsForeign,
    LineLanguage,
    ListedLine,
    Listing,
    ListingKind,
    NumberedLines,
)
from inference.isa.code.source import lines_without_drawings
from inference.isa.x86.assembly.assembler_listings import ASSEMBLERS
from inference.isa.x86.assembly.dotnet_listings import DOTNET
from inference.isa.x86.assembly.go_listings import GO_COMPILER, GO_OBJDUMP
from inference.isa.x86.assembly.jit_listings import HOTSPOT, LUAJIT, V8
from inference.isa.x86.assembly.listed_instructions import is_definition, with_places
from inference.isa.x86.assembly.profile_tables import PROFILE_TABLES
from inference.isa.x86.assembly.skipped_lines import RELOCATION, classify, is_instruction
from inference.isa.x86.assembly.statements import begins_instruction

_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_MAX_CODE_BYTES = 15  # of an instruction
_ROW = re.compile(r"[ \t]*((?:[0-9a-f]{2} ){1,15})[ \t]+(\S.*)", re.IGNORECASE)
_FURTHER_BYTES = re.compile(r"[ \t]*((?:[0-9a-f]{2} ?){1,15})\s*", re.IGNORECASE)
"""Bytes that go on below their instruction."""

_LABEL = re.compile(r"\s*(?:[0-9a-f]{8,16}\s+)?<(.+)>:\s*", re.IGNORECASE)


def _read_unaddressed(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    address = 0
    for number, raw in lines:
        line = raw[:_MAX_LINE_LENGTH]
        row = _ROW.fullmatch(line)
        if row and begins_instruction(row[2]):
            code = bytes.fromhex(row[1])
            entries.append(ListedLine(number, address, code, row[2].strip()))
            address += len(code)
        elif label := _LABEL.fullmatch(line):
            address = 0
            entries.append(ListedLine(number, address, label=label[1]))
        elif (
            entries
            and entries[-1].code
            and (match := _FURTHER_BYTES.fullmatch(line))
            and not begins_instruction(line)
        ):
            code = entries[-1].code + bytes.fromhex(match[1])
            if len(code) > _MAX_CODE_BYTES:
                return None
            entries[-1] = replace(entries[-1], code=code)
            address += len(bytes.fromhex(match[1]))
        elif line.strip():
            other_lines.append((number, line))
    kinds, dropped = classify(other_lines, is_foreign)
    if not any(entry.code for entry in entries) or len(dropped) >= len(entries):
        return None
    lost = {line.line for line in dropped}
    return Listing(with_source(entries, [row for row in other_lines if row[0] not in lost]), kinds, dropped)


UNADDRESSED = ListingKind(
    "objdump --no-addresses",
    re.compile(r"^[ \t]*(?:[0-9a-f]{2} ){1,15}[ \t]+[a-z]", re.IGNORECASE | re.MULTILINE),
    _read_unaddressed,
)
"""Bytes and text without addresses, ` 48 01 d8  add rax, rbx`, of objdump and llvm-objdump.

The lines of a function follow each other without gaps, so that their bytes are enough for addresses.
"""


LANGUAGE = LineLanguage(
    begins_instruction,
    is_instruction,
    classify,
    lambda text: is_undotted(text) or is_definition(text),
    RELOCATION,
)


def _read_addressed_lines(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    return listing_of(with_places(lines), LANGUAGE, is_foreign)


ADDRESSED_LINES = ListingKind(
    "objdump",
    re.compile(r":|│|^[^\w\n]*(?:0x[0-9a-f]{4}|[0-9a-f]{8}|[0-9a-f]{4,16}h\s)", re.IGNORECASE | re.MULTILINE),
    _read_addressed_lines,
)
"""Lines that begin with an address, of most programs: see `inference.isa.code.addressed_lines`."""

KINDS: tuple[ListingKind, ...] = (
    PROFILE_TABLES,
    GO_COMPILER,
    GO_OBJDUMP,
    DOTNET,
    LUAJIT,
    V8,
    HOTSPOT,
    ASSEMBLERS,
    ADDRESSED_LINES,
    UNADDRESSED,
)


def listing_in(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    """The listing in a text, of the first kind that it is; None where it is none. Raises `BlockError`.

    Only lines with addresses are read with their drawings: a bar divides the columns of perf.
    """
    texts = [line for _, line in lines]
    bare = lines_without_drawings(texts)
    plain = lines if bare is texts else list(zip((number for number, _ in lines), bare, strict=True))
    text, plain_text = "\n".join(texts), "\n".join(bare)
    for kind in KINDS:
        has_drawings = kind is ADDRESSED_LINES
        if not kind.signature.search(text if has_drawings else plain_text):
            continue
        if (listing := kind.read(lines if has_drawings else plain, is_foreign)) is not None:
            return listing
    return None
