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
_NUMBER = r"-?(?:0x[0-9a-f]{1,16}|[0-9]{1,20})"
_NAME = r"%[a-z][a-z0-9]{1,4}(?:\([0-7]\))?"
_MARKS = r"(?:\{(?:%?k[0-7]|z|1to(?:2|4|8|16|32)|sae|r[nduz]-sae)\})*"
_ADDRESS = rf"\((?:{_NAME})?(?:,{_NAME}(?:,[1248])?)?\)"
_OPERAND = re.compile(
    rf"\*?(?:{_NAME}|\${_NUMBER}|(?:%[c-gs]s:)?(?:{_NUMBER}(?:{_ADDRESS})?|{_ADDRESS})){_MARKS}|{_MARKS}"
)
_COMMA = re.compile(r",(?![^(]*\))")
_MNEMONIC = re.compile(r"[a-z][a-z0-9]*")


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
        assembled = assemble([_printed(number, line) for number, line in lines], "x86_64", "")
    except AssemblerError as error:
        raise BlockError(f"AT&T syntax is read by LLVM's assembler: {error}; or use Intel syntax") from None
    for index, reason in sorted(assembled.refused.items()):
        raise BlockError(reason, lines[index][0])
    return block_of_bytes(assembled.code)


def _printed(number: int, line: str) -> str:
    """The line put together anew from the parts that an instruction can have.

    LLVM's assembler knows directives, one of which reads files: it is never given a text as it came.
    """
    words = line.lower().split()
    prefixes: list[str] = []
    while len(words) > 1 and words[0] in PREFIXES:
        prefixes.append(words.pop(0))
    mnemonic, written = words[0], "".join(words[1:])
    operands = _COMMA.split(written) if written else []
    if not _MNEMONIC.fullmatch(mnemonic):
        raise BlockError(f"an instruction begins with its mnemonic, not with {mnemonic[:40]!r}", number)
    for operand in operands:
        if not _OPERAND.fullmatch(operand):
            raise BlockError(
                f"{operand[:40]!r} is no operand: %rax, $5 and 8(%rax,%rcx,4) are some in AT&T syntax", number
            )
    return " ".join([*prefixes, mnemonic, ",".join(operands)]).rstrip()


def _symbol(line: str) -> str:
    """The first name among the operands of an instruction that is no register, "" where there is none."""
    words = line.split()
    while words and words[0] in PREFIXES:
        words.pop(0)
    found = _SYMBOL.search(_DECORATION.sub("", " ".join(words[1:])))
    return found.group() if found else ""
