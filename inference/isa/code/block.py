"""A basic block as a value: its machine code, its instructions, and their schemes.

A *loop* is a block whose machine code ends with a jump to its own first byte. That jump is not among the
block's instructions: programs that run or simulate the block close the loop in their own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

from inference.isa.code.control_flow import LOOP, STRAIGHT

_TEXT_LENGTH = 60  # characters of a line that is quoted
_MAX_NUMBERS = 6  # of lines that a message names


class BlockError(ValueError):
    """Text or bytes that are no basic block; `line` and `column` count from 1, 0 where unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        self.line = line
        self.column = column
        self.message = message
        where = f"line {line}, column {column}: " if line and column else f"line {line}: " if line else ""
        super().__init__(f"{where}{message}")

    def at(self, line: int, column: int = 0) -> BlockError:
        return BlockError(self.message, line, column)


@dataclass(frozen=True, slots=True)
class DroppedLine:
    """A line that looks like code and is in no block: its number from 1, its text, and the reason."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line} {self.reason}, and is in no block: {self.text}"


def dropped_line(number: int, text: str, reason: str) -> DroppedLine:
    """A dropped line with its text cut to the length of a notice."""
    line = "".join(char if char.isprintable() else "�" for char in " ".join(text.split()))
    return DroppedLine(number, line if len(line) <= _TEXT_LENGTH else f"{line[: _TEXT_LENGTH - 1]}…", reason)


def line_numbers(lines: Sequence[int]) -> str:
    """The first of some line numbers in words: `line 3`, `lines 3, 5`.

    >>> line_numbers([3, 5])
    'lines 3, 5'
    """
    numbers = ", ".join(map(str, lines[:_MAX_NUMBERS])) + (" …" if len(lines) > _MAX_NUMBERS else "")
    return f"line {numbers}" if len(lines) == 1 else f"lines {numbers}"


class BlockName(NamedTuple):
    """The instruction set of a block and its machine code; equal exactly for equal blocks.

    Formats with fields call these `isa` and `hex`; as one text it is `x86-64:4801d8`.
    """

    isa: str
    code: bytes

    @property
    def hex(self) -> str:
        return self.code.hex()

    def as_json(self) -> dict[str, str]:
        return {"isa": self.isa, "hex": self.hex}

    def __str__(self) -> str:
        return f"{self.isa}:{self.hex}"


MAX_BYTES = 4096  # of a basic block
MAX_INSTRUCTIONS = 500  # of a basic block

LABEL = ".loop"
"""The label of a loop's first instruction."""


@dataclass(frozen=True)
class BlockInstruction(ABC):
    """One instruction; properties of its `code` are computed when first used.

    Attributes:
        isa: The name of the instruction set.
        counters: The registers for the counter of a loop around a block that does not use them, the best
            first.
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
        """Why it cannot be part of a measured block, "" where it can."""

    @property
    @abstractmethod
    def registers(self) -> frozenset[str]:
        """The full-width names of all general-purpose registers that it uses, implicit ones included."""

    @property
    @abstractmethod
    def text(self) -> str:
        """Assembly that reads back to the same bytes."""

    @abstractmethod
    def jump_text(self, size: int) -> str:
        """The text as the closing jump of a loop with a body of `size` bytes."""


@dataclass(frozen=True)
class Block:
    """A sequence of instructions without control flow, or a loop of them.

    `code` includes the jump that closes a loop, `instructions` do not: it is `closing`, None for a straight
    block.
    """

    code: bytes
    instructions: tuple[BlockInstruction, ...]
    closing: BlockInstruction | None = None

    @property
    def kind(self) -> str:
        return STRAIGHT if self.closing is None else LOOP

    @property
    def isa(self) -> str:
        return (self.closing or self.instructions[0]).isa

    @property
    def body(self) -> bytes:
        """The machine code without the jump that closes a loop."""
        return self.code if self.closing is None else self.code[: -len(self.closing.code)]

    @property
    def name(self) -> BlockName:
        """Instruction set and machine code: the key of answers and measurements."""
        return BlockName(self.isa, self.code)

    @property
    def hex(self) -> str:
        """The digits of its name, where the instruction set is known from the context."""
        return self.code.hex()

    @property
    def text(self) -> str:
        """One instruction per line, as assembly; a loop has a label and its jump."""
        lines = [instruction.text for instruction in self.instructions]
        if self.closing is not None:
            lines = [f"{LABEL}:", *lines, self.closing_text]
        return "\n".join(lines)

    @property
    def closing_text(self) -> str:
        """The jump that closes a loop, "" for a straight block."""
        return "" if self.closing is None else self.closing.jump_text(len(self.body))

    @property
    def listing(self) -> list[tuple[BlockInstruction, str]]:
        """All instructions with their texts, including the jump that closes a loop."""
        closing = [] if self.closing is None else [(self.closing, self.closing_text)]
        return [*((instruction, instruction.text) for instruction in self.instructions), *closing]

    @cached_property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """The block's schemes as (text, multiplicity), sorted; without unknown instructions."""
        return tuple(sorted(Counter(step.scheme for step in self.instructions if step.scheme).items()))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The texts of instructions without scheme."""
        return tuple(instruction.text for instruction in self.instructions if instruction.scheme is None)

    @property
    def unused_registers(self) -> tuple[str, ...]:
        """The unused registers for the counter of a loop around it, the best first."""
        executed = self._executed
        used = frozenset[str]().union(*(instruction.registers for instruction in executed))
        return tuple(name for name in executed[0].counters if name not in used)

    @property
    def unused_register(self) -> str:
        """The first of `unused_registers`, "" without any."""
        return next(iter(self.unused_registers), "")

    def obstacle(self) -> str:
        """Why it cannot be measured on any machine, with the instruction; "" where no reason is known."""
        for number, instruction in enumerate(self.instructions, start=1):
            if instruction.obstacle:
                return f"instruction {number}, {instruction.text}, {instruction.obstacle}"
        return ""

    @property
    def _executed(self) -> tuple[BlockInstruction, ...]:
        """All instructions including a loop's jump; at least one."""
        return self.instructions if self.closing is None else (*self.instructions, self.closing)


def refuse_length(code: bytes) -> None:
    """Raise `BlockError` for an invalid number of bytes."""
    if not 1 <= len(code) <= MAX_BYTES:
        raise BlockError(f"a basic block has 1 to {MAX_BYTES:,} bytes, not {len(code):,}")


LINE = 64
"""Bytes of a line of the instruction cache."""


@dataclass(frozen=True)
class Iteration:
    """One iteration as executed: `code`, start values of `registers`, and a note on the loop's closing."""

    code: bytes
    registers: Mapping[str, int] = field(default_factory=dict)
    loop_note: str = ""

    @property
    def jumps(self) -> int:
        """Instructions behind the body in each iteration."""
        return 1 if self.loop_note else 0


MAX_COPIES_BYTES = 24 * 1024
"""Bytes of all copies of a block that the agent accepts."""

_UNROLLED, _IN_LOOP, _LOOPS = 1600, 100, 400
"""Instructions. Unrolled, 800 more than in the shorter code: with fewer, the ends of both count. On a Golden
Cove a constant's move took 0.17 cycles with 200, and takes the 0.2 of five ALUs; what a Zen 4 has to decode
took 4 % too little with 800. A loop has more copies, up to `_MAX_LOOPS`, than straight code in a loop: what
leads its registers back to the beginning of its memory delays it, on a Zen 4 by 4 cycles behind 26 copies of
1.0 cycles each."""

_MAX_LOOPS = 64
"""Copies of a loop. Taken branches that exceed a small target buffer take longer than that of the loop."""

_STORES = 512
"""Stores in the longer code of blocks that store often, and half as many in the shorter one: then the store
buffer is full (Golden Cove: 112 entries); before, it accepts stores faster than the cache does."""

_INSTRUCTIONS_PER_STORE = 6
"""Blocks with more instructions per store have another bottleneck."""


def default_copies(
    instructions: int, length: int, *, in_loop: bool, stores: int = 0, loop: bool = False
) -> int:
    """The number of copies of a block in a loop body; even, at least 2.

    Args:
        instructions: Instructions of the block.
        length: Its bytes: all copies have at most `MAX_COPIES_BYTES`.
        in_loop: Whether the block is measured in a loop, or unrolled.
        stores: Stores of the block, where it is unrolled: there must be enough of them to be steady.
        loop: Whether it is a loop itself, so that each copy ends with a branch.
    """
    copies = -(-(_IN_LOOP if in_loop else _UNROLLED) // instructions)
    if loop and in_loop:
        copies = min(-(-_LOOPS // instructions), _MAX_LOOPS)
    if not in_loop and stores * _INSTRUCTIONS_PER_STORE >= instructions:
        copies = max(copies, -(-_STORES // stores))
    return max(2, min(copies + copies % 2, MAX_COPIES_BYTES // length))
