"""Code that shows how a core fetches, decodes and issues instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from inference.isa.code.control_flow import Flow


@dataclass(frozen=True, slots=True)
class TimedCode:
    """One copy of `instructions` instructions of machine code.

    Attributes:
        loop: The copies form a loop; else they run once after registers were reset.
        copies: Copies of the longer code, 0 for the usual number. For a loop of one copy there is no
            shorter code: cycles include the counter and its branch.
        registers: (name, value) of registers that must not start with the usual value.
        offset: Bytes between the beginning of a cache line and the first copy.
    """

    code: bytes
    instructions: int
    loop: bool = False
    copies: int = 0
    registers: tuple[tuple[str, int], ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class CodeReading:
    """The measured cycles of one copy; None where they did not settle, and then `note` says why."""

    code: TimedCode
    cycles: float | None
    spread: float = 0.0
    note: str = ""


class CodeTimer(Protocol):
    """Measures the cycles of codes."""

    def time(self, codes: Sequence[TimedCode]) -> Iterator[CodeReading]:
        """One reading per code, in any order."""


class Aspect(StrEnum):
    """The property that a code shows; the comment says what `FrontEndCode.value` is."""

    SIZE = "size"
    """Loops of instructions without ports: the number of instructions."""
    LOOP_LENGTH = "length in loops"
    """NOPs in a loop: bytes of each."""
    STRAIGHT_LENGTH = "length in straight code"
    """NOPs without a loop: bytes of each."""
    STRAIGHT_MIX = "mixed lengths in straight code"
    """NOPs of several lengths without a loop: bytes of all of them."""
    STRAIGHT = "straight code"
    """Instructions without ports, without a loop: bytes of each."""
    JUMP = "taken branch"
    """Taken jumps: bytes between one and its target."""
    UNTAKEN = "untaken branch"
    OFFSET = "offset"
    """A short loop: bytes between the beginning of a cache line and its first instruction."""
    ENCODING = "encoding"
    """Instructions that differ in one number of their code: bytes of that number."""
    FUSION = "fusion"
    """A comparison and a branch in slot-bound code: 1 adjacent, 0 with an instruction in between."""
    MOVE = "move and operation"
    """A register move and an operation that updates the copy, likewise."""
    SHORT_LOOP = "short loop"
    """Short loops of instructions without ports: their number."""
    BRANCH_PORT = "port of a branch"
    """Additions, 1 with a comparison, 2 with a branch behind that; 0 without either."""
    INDEXED = "indexed address"
    """An instruction with memory in slot-bound code, named by `AddressUse`: 1 with an index register."""
    PRESERVED_FLAGS = "kept flags"
    """Shifts by 0, which leave the flags unchanged, and readers of the flags: number of shifts."""
    ORDER = "order"
    """Results and their uses: 1 each use right behind its result, 0 all uses behind all results."""


SHORT_LOOPS = range(1, 33)
"""Instructions of the loops of `Aspect.SHORT_LOOP`."""


class AddressUse(StrEnum):
    """What an instruction does with memory, of a vector register where that is said."""

    LOAD = "load"
    STORE = "store"
    OPERATION = "load and operation"
    UPDATE = "load, operation and store"
    VECTOR_LOAD = "vector load"
    VECTOR_STORE = "vector store"
    VECTOR_OPERATION = "vector load and operation"


@dataclass(frozen=True, slots=True)
class FrontEndCode:
    """A code to be measured; `name` distinguishes codes of one aspect, "" where there is only one."""

    aspect: Aspect
    name: str
    value: int
    code: TimedCode


def order_codes(name: str, producers: Sequence[bytes], consumers: Sequence[bytes]) -> Iterator[FrontEndCode]:
    """The same instructions in two orders, which take equally long where they need not issue in order.

    Args:
        name: Name of the producers, such as `multiplication`.
        producers: Instructions of more than one cycle that wait for none of the others.
        consumers: Like instructions, each of which needs the result of the producer in its place.
    """
    early = [code for pair in zip(producers, consumers, strict=True) for code in pair]
    for value, order in ((1, early), (0, [*producers, *consumers])):
        yield FrontEndCode(Aspect.ORDER, name, value, TimedCode(b"".join(order), len(order), loop=True))


class FetchedInstruction(NamedTuple):
    """An instruction as a front end sees it.

    Attributes:
        number_bytes: Bytes of its displacement or immediate.
        registers: The number of each operand's register, None for other operands.
    """

    mnemonic: str
    flow: Flow
    number_bytes: int
    registers: tuple[int | None, ...]
