"""Blocks in the cells of a table: machine code in the ways that people write it, or assembly."""

from __future__ import annotations

import re

from inference.isa.blocks import TITLES, BlockError, block_of_text
from inference.isa.code.decoration import without_colours
from inference.isa.targets import DEFAULT

SEPARATORS = (",", "\t", ";")

_BYTES = re.compile(r"(?:0x|\\x)?[0-9a-f]{2}(?:[\s_]*(?:0x|\\x)?[0-9a-f]{2})*")
_LOOKS_HEX = re.compile(r"(?:0x)?[0-9a-f]+")
_BETWEEN = re.compile(r"[\s_]|0x|\\x")


def separator_of(line: str) -> str:
    """What parts the cells of a table whose first line this is: the one that leaves a title or machine code.

    In assembly there are commas, and semicolons between instructions.
    """
    for separator in SEPARATORS:
        first, found, _ = line.partition(separator)
        if found and is_first_cell(first):
            return separator
    return ","


def is_first_cell(text: str) -> bool:
    """Whether the first cell of a table with blocks can be this: a title, machine code or nothing."""
    cell = text.strip().strip('"').strip().lower()
    return not cell or cell in TITLES or bool(code_of(cell))


def code_of(cell: str) -> bytes:
    """Machine code in hexadecimal digits, `4801d8`, `48 01 d8`, `0x4801d8`; nothing of other text."""
    try:
        code = bytes.fromhex(cell)  # nearly all are written like this: quicker than the pattern
    except ValueError:
        digits = cell.strip().lower()
        return bytes.fromhex(_BETWEEN.sub("", digits)) if _is_bytes(digits) else b""
    return code


def _is_bytes(digits: str) -> bool:
    left = _BETWEEN.sub("", digits)
    return len(left) % 2 == 0 and bool(_BYTES.fullmatch(digits))


def block_of_cell(cell: str, isa: str = DEFAULT) -> tuple[bytes, str]:
    """(code, the assembly that was there in place of it). Raises `BlockError`."""
    code = code_of(cell)
    if code:
        return code, ""
    text = cell.strip()
    if _LOOKS_HEX.fullmatch(text.lower()):
        digits = len(text.lower().removeprefix("0x"))
        raise BlockError(f"machine code has two hexadecimal digits per byte; these are {digits}")
    if not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text):
        raise BlockError("these bytes are no UTF-8")
    text = without_colours(text.replace("\r\n", "\n").replace(";", "\n"))
    return block_of_text(text, isa).code, text
