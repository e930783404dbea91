"""What each instruction of a block reads and writes, by the operands of its scheme."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

PAGE_BYTES = 4096
CODE = "code"
"""The location that the instruction pointer is."""
STACK = (("stack", 1),)
"""The registers of an address that `push` and `pop` move on."""


class MemoryPlace(NamedTuple):
    """An access to memory: where `address` is equal, it is surely `offset` bytes from the same place; None is
    equal to nothing.

    `step`: by how many bytes it moves from iteration to iteration, None where nobody knows. `page`: by which
    of several pages that are one in memory it is accessed, 0 without such. `registers` (locations
    and factors) and `displacement`: what the instruction makes the address of.
    """

    address: Hashable
    offset: int
    bits: int
    step: int | None
    page: int = 0
    registers: tuple[tuple[str, int], ...] = ()
    displacement: int = 0

    @property
    def spot(self) -> tuple[Hashable, int]:
        """Something that is equal for accesses that are near each other, and how many bytes behind it.

        Of those that move, it is the registers: most pointers move by less than a cache line.
        """
        if self.address is not None and self.step == 0:
            return self.address, self.offset
        return self.registers, self.displacement

    @property
    def is_indexed(self) -> bool:
        """Whether the address has an index."""
        return len(self.registers) > 1 or any(scale > 1 for _, scale in self.registers)

    def overlaps(self, other: MemoryPlace) -> bool:
        """Whether both surely have a byte in common, in this iteration and in all others."""
        if self.address is None or (self.address, self.step) != (other.address, other.step):
            return False
        return self.offset < other.offset + other.bits // 8 and other.offset < self.offset + self.bits // 8

    def an_iteration_ago(self) -> MemoryPlace | None:
        """The same access in the iteration before, None where nobody knows where it was."""
        if self.step is None:
            return None
        page, offset = self.page, self.offset - self.step
        if page:
            page, offset = divmod(page * PAGE_BYTES + offset, PAGE_BYTES)
        return self._replace(page=page, offset=offset)

    def behind(self, more: int) -> MemoryPlace:
        return self._replace(displacement=self.displacement + more)


class OperandAccess(NamedTuple):
    """A read or a write of one location through an operand, named as latencies name it.

    `location`: of a register or a flag; `memory` instead, of an access to memory.
    """

    operand: str
    location: str = ""
    memory: MemoryPlace | None = None


class InstructionAccesses(NamedTuple):
    """One instruction: `scheme` is None where it has none. `one_register`: all operands that can be the same
    register are. `vector`: what it loads or stores is in a vector register. `behind_stack`: it computes with
    the stack pointer, which `push` or `pop` moved before. `immediate`: one of 8 bits, or 0 of a shift by a
    register that is surely 0; None without. `keeps_flags`: that shift leaves the flags as they were, which
    other operands have it write."""

    scheme: str | None
    reads: tuple[OperandAccess, ...]
    writes: tuple[OperandAccess, ...]
    one_register: bool = False
    vector: bool = False
    behind_stack: bool = False
    immediate: int | None = None
    keeps_flags: bool = False

    @property
    def in_memory(self) -> bool:
        return any(access.memory is not None for access in (*self.reads, *self.writes))


_FLAG = "flag "
"""How locations of flags begin."""


def reads_of_kept_flags(block: Sequence[InstructionAccesses]) -> int:
    """How many instructions of a loop keep flags that are read before another one writes them."""
    return sum(
        one.keeps_flags and _is_read_first([*block[place + 1 :], *block[: place + 1]])
        for place, one in enumerate(block)
    )


def _is_read_first(following: Sequence[InstructionAccesses]) -> bool:
    for one in following:
        if any(access.location.startswith(_FLAG) for access in one.reads):
            return True
        if any(access.location.startswith(_FLAG) for access in one.writes):
            return False
    return False
