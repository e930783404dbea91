"""Machine code of our own that is timed to learn about a core: what one copy is, and how copies are run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


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
        ...
