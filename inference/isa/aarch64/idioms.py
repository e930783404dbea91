"""Idioms and false dependences of AArch64; see `inference.isa.words.idioms`."""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa.aarch64.chains import CHAINS
from inference.isa.aarch64.statements import read_instruction
from inference.isa.chains import NoChainError
from inference.isa.words.idioms import IdiomMaker

_ADDEND = 13


def code_of(lines: Sequence[str]) -> bytes:
    """Machine code of lines of one instruction each. Raises `NoChainError` for a line that has none."""
    words = [read_instruction(line).code() for line in lines]
    if None in words:
        raise NoChainError(f"it cannot be encoded: {lines[words.index(None)]}")
    return b"".join(word for word in words if word is not None)


_MAKER = IdiomMaker(
    CHAINS,
    {"general": (9, 10, 11, 12), "vector": (12, 13, 14, 15)},
    code_of,
    [f"add x{number}, x{number}, x{_ADDEND}" for number in range(8)],
)
idioms_of, reference_additions = _MAKER.idioms_of, _MAKER.reference_additions
