"""A basic block as a value: its machine code, its instructions, and the scheme of each.

A *loop* is a block whose machine code ends with a jump to its own first byte. That jump is no instruction of
the block: whoever runs or simulates it closes it as they can.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from inference.isa.code.control_flow import LOOP, STRAIGHT
from inference.isa.code.errors import BlockError
from inference.isa.code.name import BlockName

MOST_BYTES = 4096
MOST_INSTRUCTIONS = 500

LABEL = ".loop"
"""What the first instruction of a loop is called."""


@dataclass(frozen=True)
class BlockInstruction(ABC):
    """One instruction; all that is known of its `code` is found out when it is used.

    `isa`: the name of the instruction set. `counters`: the registers that a loop around a block may count in
    where the block does not use them, the best first.
    """

    isa: ClassVar[str]
    counters: ClassVar[Sequence[str]]

    code: bytes

    @property
    @abstractmethod
    def scheme(self) -> str | None:
        """The text of its scheme, None where it has none."""

    @property
    @abstractmethod
    def obstacle(self) -> str:
        """Why it cannot be part of a basic block that is measured, "" where it can."""

    @property
    @abstractmethod
    def registers(self) -> frozenset[str]:
        """The full-width names of all general-purpose registers that it uses, implicit ones among them."""

    @property
    @abstractmethod
    def text(self) -> str:
        """As assembly that reads back to the same bytes."""

    @abstractmethod
    def text_behind(self, size: int) -> str:
        """As the jump that closes a loop over so many bytes."""


@dataclass(frozen=True)
class Block:
    """A sequence of instructions without control flow, or a loop of them.

    `code` has the jump that closes a loop, `instructions` do not: it is `closing`, None of a straight block.
    """

    code: bytes
    instructions: tuple[BlockInstruction, ...]
    closing: BlockInstruction | None = None

    @property
    def kind(self) -> str:
        return STRAIGHT if self.closing is None else LOOP

    @property
    def isa(self) -> str:
        """The name of its instruction set."""
        return (self.closing or self.instructions[0]).isa

    @property
    def body(self) -> bytes:
        """The machine code without the jump that closes a loop."""
        return self.code if self.closing is None else self.code[: -len(self.closing.code)]

    @property
    def name(self) -> BlockName:
        """What it is called everywhere."""
        return BlockName(self.isa, self.code)

    @property
    def hex(self) -> str:
        """The digits of its name, where the instruction set is known from what they stand in."""
        return self.code.hex()

    @property
    def text(self) -> str:
        """One instruction a line, as assembly; a loop has a label and its jump."""
        lines = [one.text for one in self.instructions]
        if self.closing is not None:
            lines = [f"{LABEL}:", *lines, self.closing_text]
        return "\n".join(lines)

    @property
    def closing_text(self) -> str:
        """The jump that closes a loop, "" of a straight block."""
        return "" if self.closing is None else self.closing.text_behind(len(self.body))

    @property
    def listing(self) -> list[tuple[BlockInstruction, str]]:
        """All instructions with their texts, the jump that closes a loop last."""
        closing = [] if self.closing is None else [(self.closing, self.closing_text)]
        return [*((one, one.text) for one in self.instructions), *closing]

    @cached_property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """Its schemes as an experiment has them: (text, multiplicity), by text; what has none is left out."""
        return tuple(sorted(Counter(one.scheme for one in self.instructions if one.scheme).items()))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The instructions that are of no scheme."""
        return tuple(one.text for one in self.instructions if one.scheme is None)

    @property
    def unused_registers(self) -> tuple[str, ...]:
        """The registers that a loop around it may count in, the best first."""
        executed = self._executed
        used = frozenset[str]().union(*(one.registers for one in executed))
        return tuple(name for name in executed[0].counters if name not in used)

    @property
    def unused_register(self) -> str:
        """The first of them, "" where there is none."""
        return next(iter(self.unused_registers), "")

    def obstacle(self) -> str:
        """Why it cannot be measured anywhere, naming the instruction; "" where nothing is known."""
        for number, one in enumerate(self.instructions, start=1):
            if one.obstacle:
                return f"instruction {number}, {one.text}, {one.obstacle}"
        return ""

    @property
    def _executed(self) -> tuple[BlockInstruction, ...]:
        """At least one: a block has a byte."""
        return self.instructions if self.closing is None else (*self.instructions, self.closing)


def bytes_of_hex(text: str) -> bytes:
    """Machine code in hexadecimal digits, spaces between them or not. Raises `BlockError`."""
    digits = re.sub(r"\s|0x|\\x|,", "", text.lower())
    odd = re.search(r"[^0-9a-f]", digits)
    if odd:
        raise BlockError(f"machine code is written in hexadecimal digits; {odd.group()!r} is none")
    if len(digits) % 2:
        raise BlockError(f"machine code has two hexadecimal digits per byte; these are {len(digits)}")
    return bytes.fromhex(digits)


def refuse_length(code: bytes) -> None:
    """Raise `BlockError` for as many bytes as no block has."""
    if not 1 <= len(code) <= MOST_BYTES:
        raise BlockError(f"a basic block has 1 to {MOST_BYTES:,} bytes, not {len(code):,}")
