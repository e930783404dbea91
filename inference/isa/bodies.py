"""Loop bodies of any instruction set that can be assembled, chosen by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inference.isa import aarch64
from inference.isa.aarch64.assembling import Assembler
from inference.isa.llvm_mc import AssemblerError
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86 import assembling as x86

# Of which instruction set basic blocks can be read, and what is said of the others.


def obstacle_to_blocks(name: str, isa: str) -> str:
    """Why there are no blocks for a mapping or machine of this instruction set, "" where there are.

    `name` is that of the mapping or machine.
    """
    if isa == X86:
        return ""
    if isa in ASSEMBLED:
        return f"{name!r} is for {isa}, and blocks of {isa} are not supported yet"
    return (
        f"{name!r} is for the instruction set {isa!r}, and blocks have the schemes of {X86}: match the names "
        "of a mapping to them when you import it"
    )


X86 = "x86-64"
ASSEMBLED = (X86, aarch64.NAME)
"""Instruction sets of which machine code can be made here."""


class LoopBody(Protocol):
    """An experiment as an unrolled loop body."""

    @property
    def code(self) -> bytes:
        """Machine code."""
        ...

    @property
    def listing(self) -> tuple[str, ...]:
        """The instructions as text."""
        ...

    @property
    def copies(self) -> int:
        """Copies of the experiment in it."""
        ...

    @property
    def half_copies(self) -> int:
        """Copies in the shorter body at its beginning."""
        ...


def unrolled(isa: str, terms: Sequence[tuple[str, int]]) -> LoopBody:
    """The loop body of an experiment; `terms` are (scheme text, multiplicity) pairs.

    Raises `CannotMeasureError`, also where the assembler is not there.
    """
    if isa == X86:
        return x86.unroll(terms)
    try:
        body = Assembler().unroll(terms)
        assert body.code
    except AssemblerError as error:
        raise CannotMeasureError(terms[0][0], str(error)) from None
    return body
