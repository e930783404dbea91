"""A decoded instruction as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from inference.isa.code.control_flow import Flow
from inference.isa.scheme import Scheme

GENERAL, VECTOR, ZERO = "general", "vector", "zero"
"""Banks of registers; `ZERO`: the register that is always 0."""

STACK_POINTER = 31
"""Its number in the bank `GENERAL`."""


class RegisterPart(NamedTuple):
    """A register, or a part of one, as an operand.

    Attributes:
        bank: `GENERAL`, `VECTOR`, or `ZERO` for what reads as 0 and keeps nothing.
        number: Of the register, of several ones of the first; behind 31 follows 0.
        bits: All bits that the operand has: of the element, of all registers of a list.
        span: Number of registers.
        element: Index of the element in each of them, None for the registers' low bits.
    """

    bank: str
    number: int
    bits: int
    span: int = 1
    element: int | None = None


@dataclass(frozen=True, slots=True)  # no tuple: these have a method `index`
class InMemory:
    """A memory operand, or an address that is only computed.

    Attributes:
        base: Number of the general-purpose register, `STACK_POINTER` included; None: the instruction's own
            address.
        index: Added to the base; behind a moving base it is what the base moves by.
        extend: How the index is extended: `lsl` (not at all), `uxtw`, `sxtw`, `sxtx`; "" without index.
        shift: Bits by which the index is shifted.
        displacement: In bytes; of a moving base what it moves by.
        bits: Accessed bits, 0 for an address.
        moves: `pre`, `post` or "": whether the base is moved before or after the access.
        page: The displacement counts from the start of the instruction's page of 4 KiB.
    """

    base: int | None
    index: RegisterPart | None = None
    extend: str = ""
    shift: int = 0
    displacement: int = 0
    bits: int = 0
    moves: str = ""
    page: bool = False


class NamedImmediate(NamedTuple):
    """An immediate that is no plain number: a shift, an extension, a condition, a name.

    Attributes:
        word: `lsl`, `sxtw`, `eq`, `ish`, …; "" for a floating-point number.
        value: Of the shift; of others the number that is encoded.
    """

    word: str
    value: float = 0


OperandValue = RegisterPart | InMemory | NamedImmediate | int | None
"""None: the operand is fixed by the scheme, such as `#0`."""


class DecodedInstruction(NamedTuple):
    """An instruction of one word.

    Attributes:
        word: The machine code as a number.
        mnemonic: As the disassembler writes it (`cmp`, not `subs`); "" where the word is none that is known.
        scheme: The text of its scheme, None without one.
        form: The scheme, with the accesses of its operands; None for an unknown word.
        operands: The values of the form's explicit operands, in the order of `form.operands`.
        flow: See `CodeStep`.
        distance: Bytes from the instruction to the target of a direct jump or call; None without.
        obstacle: Why it cannot be part of a measured block, "" where it can; the end of a sentence.
        reason: Why it has no scheme, "" where it has one; the end of a sentence.
    """

    word: int
    mnemonic: str
    scheme: str | None
    form: Scheme | None
    operands: tuple[OperandValue, ...]
    flow: Flow
    distance: int | None
    obstacle: str
    reason: str
