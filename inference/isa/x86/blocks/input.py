"""Several basic blocks from what a user pastes: hexadecimal digits, assembly, or lines of a CSV file."""

from __future__ import annotations

import re

from inference.isa.x86.blocks.att import block_of_att, is_att
from inference.isa.x86.blocks.block import Block, block_of_hex, block_of_text
from inference.isa.x86.blocks.errors import BlockError

_HEX = re.compile(r"[0-9a-f\s]+|(0x[0-9a-f]{2}[\s,]*)+|(\\x[0-9a-f]{2})+")
_CSV = re.compile(r"\"?((?:[0-9a-f]{2})+)\"?(,[^,\n]*)*")
TITLES = ("bb", "hex", "block", "code", "bytes")
"""What the first column of such a file is called."""


def read_blocks(text: str, most: int) -> list[Block]:
    """The blocks of a text, at most `most` of them.

    Paragraphs, parted by empty lines, are a block each, in hexadecimal digits or in Intel or AT&T syntax.
    Of a CSV file each line is one: its first column has the digits, the others are passed over, and so is a
    header. Raises `BlockError` with the number of the line.
    """
    lines = text.splitlines()
    wanted = _rows(lines) or _paragraphs(lines)
    if not wanted:
        raise BlockError(
            "there is no block: paste assembly in Intel syntax, or machine code in hexadecimal digits"
        )
    if len(wanted) > most:
        raise BlockError(f"at most {most} blocks at a time, not {len(wanted):,}")
    return [_read(number, part) for number, part in wanted]


def _rows(lines: list[str]) -> list[tuple[int, str]]:
    """(line number, hexadecimal digits) of a CSV file; empty where the text is none."""
    full = [(number, line.strip().lower()) for number, line in enumerate(lines, start=1) if line.strip()]
    titled = bool(full) and full[0][1].partition(",")[0].strip('"') in TITLES
    matched = [(number, _CSV.fullmatch(line)) for number, line in full[titled:]]
    found = [(number, row.group(1)) for number, row in matched if row is not None]
    is_file = titled or any("," in line for _, line in full)
    return found if is_file and len(found) == len(matched) else []


def _paragraphs(lines: list[str]) -> list[tuple[int, str]]:
    """(number of its first line, text) of each paragraph."""
    found: list[tuple[int, list[str]]] = []
    ended = True
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            ended = True
            continue
        if ended:
            found.append((number, []))
        found[-1][1].append(line)
        ended = False
    return [(number, "\n".join(part)) for number, part in found]


def _read(first: int, text: str) -> Block:
    try:
        if _HEX.fullmatch(text.strip().lower()) and re.search(r"[0-9]", text):
            return block_of_hex(text)
        return block_of_att(text) if is_att(text) else block_of_text(text)
    except BlockError as error:
        raise error.at(first + max(error.line, 1) - 1) from None
