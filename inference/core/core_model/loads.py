"""How long the loads of a block take beside what ports say of them, and pushes and pops.

A core whose first-level cache has banks and that could read three words per cycle reads one of them only
twice, and so the same word of several lines: a bank has it, whatever the line.

Pushes and pops whose stack pointer goes on from iteration to iteration come to lines that no address of their
page led to before. Where blocks are measured, all pages are one memory, and a core that looks for a line by
its virtual address does not find it at first: a Zen 4 takes 0.33 cycles for a pop of a line again and again,
and 0.67 to 0.75 for one that goes on, whatever the distance; a load of any line beside it 0.42 instead of
0.33.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from inference.core.core_model.model import MemoryTimes
from inference.isa.dependences import STACK, InstructionAccesses, MemoryPlace, OperandAccess

_WORD = 8
_WORDS = 8
"""Of a line."""


@dataclass(frozen=True)
class LoadBound:
    """`cycles` per iteration for so many `loads` of one word."""

    loads: int
    cycles: float

    @property
    def why(self) -> str:
        return f"{self.loads} load{'s' if self.loads > 1 else ''} of one word"


def load_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> LoadBound | None:
    """What the loads of the busiest word take; None without any, or where that is not known.

    Unless they are known, different addresses count as leading to different words, and as aligned.
    """
    if not times.of_one_word:
        return None
    busy: Counter[tuple[Hashable, int]] = Counter()
    for one in block:
        for place in (access.memory for access in one.reads if access.memory is not None):
            busy.update((place.spot[0], word) for word in _words(place))
    if not busy:
        return None
    loads = max(busy.values())
    return LoadBound(loads, loads * times.of_one_word)


def _words(place: MemoryPlace) -> set[int]:
    _, offset = place.spot
    first, last = offset // _WORD, (offset + place.bits // 8 - 1) // _WORD
    return {word % _WORDS for word in range(first, last + 1)}


@dataclass(frozen=True)
class StackBound:
    """`cycles` per iteration for so many pushes or pops."""

    count: int
    cycles: float
    name: str

    @property
    def why(self) -> str:
        return f"{self.count} × {self.name}, the stack pointer goes on"


def stack_bound(block: Sequence[InstructionAccesses], times: MemoryTimes) -> StackBound | None:
    """What those of a block take; None without any, or where that was not measured."""
    pops = sum(_goes_on(one.reads) for one in block)
    pushes = sum(_goes_on(one.writes) for one in block)
    beside = (sum(map(_loads, block)) - pops) * times.load_beside_pop
    bounds = [
        StackBound(count, count * cycles + more, name)
        for count, cycles, more, name in ((pops, times.pop, beside, "pop"), (pushes, times.push, 0.0, "push"))
        if count and cycles
    ]
    return max(bounds, key=lambda bound: bound.cycles, default=None)


def _loads(one: InstructionAccesses) -> int:
    return sum(access.memory is not None for access in one.reads)


def _goes_on(accesses: Sequence[OperandAccess]) -> bool:
    return any(
        access.memory is not None and access.memory.registers == STACK and bool(access.memory.step)
        for access in accesses
    )
