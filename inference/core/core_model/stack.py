"""How long pushes and pops take whose stack pointer goes on from iteration to iteration.

They come to lines that no address of their page led to before. Where blocks are measured, all pages are one
memory, and a core that looks for a line by its virtual address does not find it at first: a Zen 4 takes 0.33
cycles for a pop of a line again and again, and 0.67 to 0.75 for one that goes on, whatever the distance; a
load of any line beside it 0.42 instead of 0.33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.core_model.model import MemoryTimes
from inference.isa.dependences import STACK, InstructionAccesses, OperandAccess


@dataclass(frozen=True)
class StackBound:
    """`cycles` per iteration for so many pushes or pops."""

    count: int
    cycles: float
    name: str

    @property
    def why(self) -> str:
        """In a few words."""
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
