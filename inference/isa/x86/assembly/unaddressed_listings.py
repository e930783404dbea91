"""Listings of objdump and llvm-objdump without addresses: bytes and text, ` 48 01 d8  add rax, rbx`.

The lines of a function follow each other without gaps, so that their bytes are enough for addresses.
"""

from __future__ import annotations

import re
from dataclasses import replace

from inference.isa.code.listing_reader import with_source
from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines
from inference.isa.x86.assembly.skipped_lines import classify
from inference.isa.x86.assembly.statements import begins_instruction

_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_MAX_CODE_BYTES = 15  # of an instruction
_ROW = re.compile(r"[ \t]*((?:[0-9a-f]{2} ){1,15})[ \t]+(\S.*)", re.IGNORECASE)
_FURTHER_BYTES = re.compile(r"[ \t]*((?:[0-9a-f]{2} ?){1,15})\s*", re.IGNORECASE)
"""Bytes that go on below their instruction."""

_LABEL = re.compile(r"\s*(?:[0-9a-f]{8,16}\s+)?<(.+)>:\s*", re.IGNORECASE)


def _read(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
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
            and (further := _FURTHER_BYTES.fullmatch(line))
            and not begins_instruction(line)
        ):
            code = entries[-1].code + bytes.fromhex(further[1])
            if len(code) > _MAX_CODE_BYTES:
                return None
            entries[-1] = replace(entries[-1], code=code)
            address += len(bytes.fromhex(further[1]))
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
    _read,
)
