"""Cells of tables with basic blocks: machine code or assembly, numbers, titles; see `blocks_csv`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inference.isa.blocks import TITLES, BlockError, block_of_text
from inference.isa.code.source import without_colours
from inference.isa.targets import DEFAULT

SEPARATORS = (",", "\t", ";")
HIGHEST = 1e9  # cycles
NAME_LENGTH = 200  # characters

_BYTES = re.compile(r"(?:0x|\\x)?[0-9a-f]{2}(?:[\s_]*(?:0x|\\x)?[0-9a-f]{2})*")
_LOOKS_HEX = re.compile(r"(?:0x)?[0-9a-f]+")
_DIGIT_SEPARATORS = re.compile(r"[\s_]|0x|\\x")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]{1,4})?")  # `1`, `1.5`, `.5`, `1e-3`


def separator_of(line: str) -> str:
    """The first of `SEPARATORS` behind a title or machine code.

    Assembly contains commas and semicolons itself.

    >>> separator_of("4801d8;1.5"), separator_of("bb,llvm-mca"), separator_of("add rax, rbx; nop")
    (';', ',', ',')
    """
    for separator in SEPARATORS:
        first, delimiter, _ = line.partition(separator)
        if delimiter and is_first_cell(first):
            return separator
    return ","


def is_first_cell(text: str) -> bool:
    """Whether a text can be the first cell of a table of blocks: a title, machine code, or empty."""
    cell = text.strip().strip('"').strip().lower()
    return not cell or cell in TITLES or bool(code_of(cell))


def code_of(cell: str) -> bytes:
    """Machine code from hexadecimal digits, b"" for any other text.

    >>> code_of("48 01 d8") == code_of("0x4801d8") == bytes.fromhex("4801d8")
    True
    """
    try:
        return bytes.fromhex(cell)  # nearly all are written like this: quicker than the pattern
    except ValueError:
        digits = cell.strip().lower()
        return bytes.fromhex(_DIGIT_SEPARATORS.sub("", digits)) if _is_bytes(digits) else b""


def _is_bytes(digits: str) -> bool:
    remainder = _DIGIT_SEPARATORS.sub("", digits)
    return len(remainder) % 2 == 0 and bool(_BYTES.fullmatch(digits))


def block_of_cell(cell: str, isa: str = DEFAULT) -> tuple[bytes, str]:
    """(machine code, the assembly in the cell or "" for hexadecimal digits). Raises `BlockError`."""
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


def is_number(text: str) -> bool:
    """Whether a text in lower case without blanks around it is a number."""
    digits = text.replace(".", "", 1)
    # nearly all cells consist of digits and a point: cheaper than the pattern
    return (digits.isascii() and digits.isdigit()) or bool(_NUMBER.fullmatch(text))


def is_title_row(cells: Sequence[str]) -> bool:
    """Whether the first row of a table of blocks has the titles of its columns."""
    first = cells[0].strip().lower()
    return first in TITLES or (bool(first) and not code_of(first) and not _are_numbers(cells[1:]))


def _are_numbers(cells: Sequence[str]) -> bool:
    return all(not cell.strip() or _NUMBER.fullmatch(cell.strip().lower()) for cell in cells)


def fault_of_name(name: str) -> str:
    """What is wrong with the name of a tool, "" where nothing is."""
    if not name:
        return "is empty"
    if len(name) > NAME_LENGTH:
        return f"has {len(name)} characters, of {NAME_LENGTH} at most"
    if not name.isprintable():
        return "holds characters that cannot be printed"
    # A spreadsheet would take such a cell for a formula when the set is exported again.
    return "begins with a sign of a formula" if name[0] in "=+-@" else ""
