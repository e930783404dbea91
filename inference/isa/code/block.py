"""A basic block as a value: its machine code, its instructions, and the scheme of each.

A *loop* is a block whose machine code ends with a jump to its own first byte. That jump is no instruction of
the block: whoever runs or simulates it closes it as they can.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

from inference.isa.code.control_flow import LOOP, STRAIGHT

_SHOWN = 60
_MOST_NUMBERS = 6


class BlockError(ValueError):
    """Text or bytes that are no basic block; `line` and `column` count from 1, 0 where there is none."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.line = line
        self.column = column
        self.message = message
        where = f"line {line}, column {column}: " if line and column else f"line {line}: " if line else ""
        super().__init__(f"{where}{message}")

    def at(self, line: int, column: int = 0) -> BlockError:
        """The same about this line."""
        return BlockError(self.message, line, column)


@dataclass(frozen=True, slots=True)
class DroppedLine:
    """A line that looks like code and is in no block: its number from 1, what it says, and why."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line} {self.reason}, and is in no block: {self.text}"


def dropped_line(number: int, text: str, reason: str) -> DroppedLine:
    """With no more of the text than a notice has room for."""
    shown = " ".join(text.split())
    return DroppedLine(number, shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…", reason)


def numbered(lines: Sequence[int]) -> str:
    """The first of some lines in words: `line 3`, `lines 3, 5`."""
    shown = ", ".join(map(str, lines[:_MOST_NUMBERS])) + (" …" if len(lines) > _MOST_NUMBERS else "")
    return f"line {shown}" if len(lines) == 1 else f"lines {shown}"


class BlockName(NamedTuple):
    """The instruction set of a block and its machine code; equal exactly for equal blocks.

    Where a format has fields, these are `isa` and `hex`; in one text it is written `x86-64:4801d8`.
    """

    isa: str
    code: bytes

    @property
    def hex(self) -> str:
        """The machine code in hexadecimal digits."""
        return self.code.hex()

    def as_json(self) -> dict[str, str]:
        return {"isa": self.isa, "hex": self.hex}

    def __str__(self) -> str:
        return f"{self.isa}:{self.hex}"


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


LINE = 64
"""Bytes of a line of the instruction cache."""


@dataclass(frozen=True)
class Iteration:
    """One iteration as it is run: `code`, the values of `registers` that it needs, how it is closed."""

    code: bytes
    registers: Mapping[str, int] = field(default_factory=dict)
    words: str = ""

    @property
    def jumps(self) -> int:
        """Instructions behind the body that are executed in each iteration."""
        return 1 if self.words else 0


LONGEST = 24 * 1024
"""Bytes of all copies of a block, as the agent takes them."""

_UNROLLED, _IN_LOOP = 1600, 100
"""Instructions. Unrolled, 800 more than in the shorter code: with fewer, the ends of both count. On a Golden
Cove a constant's move took 0.17 cycles with 200, and takes the 0.2 of five ALUs; what a Zen 4 has to decode
took 4 % too little with 800."""
_STORES = 512
"""Of blocks that store often, so many at least in the longer code, and half in the shorter: by then a store
buffer is full (Golden Cove: 112 entries), which first takes stores sooner than the cache does."""
_SELDOM = 6
"""Instructions per store from which something else takes longer."""


def usual_copies(instructions: int, length: int, *, in_loop: bool, stores: int = 0) -> int:
    """Of a block of so many instructions, so many bytes and, unrolled, so many stores; an even number."""
    wanted = -(-(_IN_LOOP if in_loop else _UNROLLED) // instructions)
    if not in_loop and stores * _SELDOM >= instructions:
        wanted = max(wanted, -(-_STORES // stores))
    return max(2, min(wanted + wanted % 2, LONGEST // length))
