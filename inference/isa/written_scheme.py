"""A scheme as an assembler writes it."""

from __future__ import annotations

from dataclasses import dataclass

from inference.isa.scheme import Operand


@dataclass(frozen=True, slots=True)
class WrittenScheme:
    """How a scheme is written: `mnemonic`, the same with the letter for its width, and operands in order.

    `movzx` is `movzbl` and the like here; only where the assembler can do without it is a letter left out.
    """

    mnemonic: str
    suffixed: str
    operands: tuple[Operand, ...]
