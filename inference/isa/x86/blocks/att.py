"""Basic blocks from AT&T syntax, which LLVM's assembler reads, where it is installed."""

from __future__ import annotations

import re

from inference.isa.llvm_mc import AssemblerError, assemble
from inference.isa.x86.blocks.block import Block, block_of_bytes, written_lines
from inference.isa.x86.blocks.errors import BlockError
from inference.isa.x86.blocks.reading import PREFIXES

_REGISTER = re.compile(r"(^|[\s,(*])%[a-z]")
_SYMBOL = re.compile(r"(?<![%\w])[a-z_.][\w.@]*")
_DECORATION = re.compile(r"\{[^{}]*\}")


def is_att(text: str) -> bool:
    """Whether an assembly text names registers as AT&T syntax does: %rax."""
    return _REGISTER.search(text.lower()) is not None


def block_of_att(text: str) -> Block:
    """Assemble AT&T syntax, one instruction a line or several parted by semicolons.

    Comments begin with `#` or `//`; labels and directives are passed over. Raises `BlockError` with the
    number of the line, or that the assembler is missing.
    """
    parts = [line.split(";") for line in text.splitlines()]
    parted = "\n".join(part for line in parts for part in line)
    origin = [number for number, line in enumerate(parts, start=1) for _ in line]
    try:
        lines = [(origin[number - 1], line) for number, line in written_lines(parted)]
    except BlockError as error:
        raise error.at(origin[error.line - 1]) from None
    for number, line in lines:
        if symbol := _symbol(line.lower()):
            raise BlockError(f"{symbol!r} is no register and no number; labels mean nothing here", number)
    if not lines:
        raise BlockError("there is no instruction")
    try:
        assembled = assemble([line for _, line in lines], "x86_64", "")
    except AssemblerError as error:
        raise BlockError(f"AT&T syntax is read by LLVM's assembler: {error}; or use Intel syntax") from None
    for index, reason in sorted(assembled.refused.items()):
        raise BlockError(reason, lines[index][0])
    return block_of_bytes(assembled.code)


def _symbol(line: str) -> str:
    """The first name among the operands of an instruction that is no register, "" where there is none."""
    words = line.split()
    while words and words[0] in PREFIXES:
        words.pop(0)
    found = _SYMBOL.search(_DECORATION.sub("", " ".join(words[1:])))
    return found.group() if found else ""
