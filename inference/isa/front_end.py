"""Code that shows what a core's front end does: fetching, decoding and handing over instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from inference.isa.code.control_flow import Flow


@dataclass(frozen=True, slots=True)
class TimedCode:
    """One copy of `instructions` instructions of machine code.

    `loop`: the copies are a loop, else they are run once after registers began anew. `copies`: of the longer
    code, 0 for the usual number; of a loop with one copy there is no shorter code, and cycles include the
    counter and its branch. `registers`: (name, value) of those that must not start with the usual value.
    `offset`: bytes behind the beginning of a cache line where the first copy starts.
    """

    code: bytes
    instructions: int
    loop: bool = False
    copies: int = 0
    registers: tuple[tuple[str, int], ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class CodeReading:
    """A code as it was timed: cycles of one copy, None where they did not settle, and then `note` why."""

    code: TimedCode
    cycles: float | None
    spread: float = 0.0
    note: str = ""


class CodeTimer(Protocol):
    """Says how many cycles a copy of a code takes."""

    def time(self, codes: Sequence[TimedCode]) -> Iterator[CodeReading]:
        """A reading of each, in any order."""


class Aspect(StrEnum):
    """What of the front end a code shows, and what `FrontEndCode.value` is then."""

    SIZE = "size"
    """Loops that need no port, by the instructions in one."""
    LOOP_LENGTH = "length in loops"
    """NOPs in a loop, by the bytes of one."""
    STRAIGHT_LENGTH = "length in straight code"
    """NOPs in code without a loop, by the bytes of one."""
    STRAIGHT_MIX = "mixed lengths in straight code"
    """NOPs of several lengths in code without a loop, by the bytes of all of them."""
    STRAIGHT = "straight code"
    """What needs no port, in code without a loop, by the bytes of an instruction."""
    TAKEN = "taken branch"
    """Jumps, by the bytes between one and its target."""
    UNTAKEN = "untaken branch"
    OFFSET = "offset"
    """A short loop, by the bytes between the beginning of a cache line and its first."""
    ENCODING = "encoding"
    """What differs in one number of its code, by the bytes of that."""
    FUSION = "fusion"
    """A comparison and a branch in slot-bound code: 1 together, 0 with something between them."""
    MOVE = "move and operation"
    """A register move and an operation that updates the copy, in the same way."""
    KEPT_FLAGS = "kept flags"
    """Shifts by 0, which leave the flags as they were, and what reads them, by the number of shifts."""


@dataclass(frozen=True, slots=True)
class FrontEndCode:
    """A code to be timed. `name` says which one of several, "" where there is one alone."""

    aspect: Aspect
    name: str
    value: int
    code: TimedCode


class FetchedInstruction(NamedTuple):
    """An instruction as a front end sees it.

    `number_bytes`: of the numbers in its code. `registers`: the number of each operand's register, None for
    an operand that is none.
    """

    mnemonic: str
    flow: Flow
    number_bytes: int
    registers: tuple[int | None, ...]
