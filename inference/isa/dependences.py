"""Reads and writes of a block's instructions, by the operands of their schemes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

MEMORY_BYTES = 32 * 1024
"""Of the memory of measured blocks: addresses that are equal by this modulus are the same place
(`inference.agent.paging`)."""
CODE = "code"
"""The location that stands for the instruction pointer."""

STACK = (("stack", 1),)
"""The address register of `push` and `pop`, which they move."""


class MemoryPlace(NamedTuple):
    """An access to memory.

    Attributes:
        address: Accesses with equal addresses are exactly `offset` bytes from the same place; None equals
            nothing.
        step: Bytes by which it moves per iteration, None where unknown.
        page: Number of the virtual page, where several are the same memory; 0 otherwise.
        registers: Locations and factors that the instruction computes the address from.
        displacement: The constant part of the address.
    """

    address: Hashable
    offset: int
    bits: int
    step: int | None
    page: int = 0
    registers: tuple[tuple[str, int], ...] = ()
    displacement: int = 0

    @property
    def neighbourhood(self) -> tuple[Hashable, int]:
        """A key that is equal for accesses near each other, and the offset in bytes from it.

        Of moving accesses it is the address registers: most pointers move by less than a cache line.
        """
        if self.address is not None and self.step == 0:
            return self.address, self.offset
        return self.registers, self.displacement

    @property
    def is_indexed(self) -> bool:
        return len(self.registers) > 1 or any(scale > 1 for _, scale in self.registers)

    def overlaps(self, other: MemoryPlace) -> bool:
        """Whether both certainly have a byte in common, in every iteration."""
        if self.address is None or (self.address, self.step) != (other.address, other.step):
            return False
        return self.offset < other.offset + other.bits // 8 and other.offset < self.offset + self.bits // 8

    def in_previous_iteration(self) -> MemoryPlace | None:
        """The access of the previous iteration; None where the movement of its address is unknown."""
        if self.step is None:
            return None
        page, offset = self.page, self.offset - self.step
        if page:
            page, offset = divmod(page * MEMORY_BYTES + offset, MEMORY_BYTES)
        return self._replace(page=page, offset=offset)

    def with_displacement(self, bytes_further: int) -> MemoryPlace:
        """The access at an address `more` bytes higher."""
        return self._replace(displacement=self.displacement + bytes_further)


class OperandAccess(NamedTuple):
    """A read or write of one location through an operand; `operand` is named as in `ChainLink`.

    Attributes:
        location: A register or flag; "" for an access to `memory`.
        is_independent: Whether, by assumption, the access does not wait for an earlier write.
    """

    operand: str
    location: str = ""
    memory: MemoryPlace | None = None
    is_independent: bool = False


class InstructionAccesses(NamedTuple):
    """The reads and writes of one instruction; `scheme` is None where it has none.

    Attributes:
        same_register: All operands that can be the same register are.
        vector: Whether it loads to or stores from a vector register.
        behind_stack: Whether it computes with the stack pointer after `push` or `pop` moved it.
        immediate: An immediate of 8 bits, or 0 for a shift by a register that is certainly 0; None without.
        keeps_flags: That shift leaves the flags unchanged, although `writes` contains them.
        latency: Cycles from its sources to its results by assumption, of a load those from its address; None
            for the core's own.
        by_values: Its time, alone too, depends on the values that it computes with.
        moves: Its result is what it reads, unchanged.
        only_loads: Whether it computes nothing with what it loads but to extend it.
    """

    scheme: str | None
    reads: tuple[OperandAccess, ...]
    writes: tuple[OperandAccess, ...]
    same_register: bool = False
    vector: bool = False
    behind_stack: bool = False
    immediate: int | None = None
    keeps_flags: bool = False
    latency: float | None = None
    by_values: bool = False
    moves: bool = False
    only_loads: bool = False

    @property
    def in_memory(self) -> bool:
        return any(access.memory is not None for access in (*self.reads, *self.writes))

    @property
    def only_compares(self) -> bool:
        """Whether it writes nothing but flags, as a comparison before a jump does."""
        return bool(self.writes) and all(access.location.startswith(_FLAG) for access in self.writes)

    @property
    def loads(self) -> bool:
        return any(access.memory is not None for access in self.reads)


class Reduction(NamedTuple):
    """An operation that combines an accumulator with a value, in any order: several accumulators do as well.

    Attributes:
        accumulators: Operands that may be the accumulator, which the first operand becomes.
        is_exact: Another order does not change how the result is rounded.
    """

    accumulators: tuple[str, ...]
    is_exact: bool


_FLAG = "flag "
"""Prefix of the locations of flags."""


def reads_of_preserved_flags(block: Sequence[InstructionAccesses]) -> int:
    """The number of instructions in a loop that leave flags unchanged which are read before another write."""
    return sum(
        instruction.keeps_flags and _is_read_first([*block[place + 1 :], *block[: place + 1]])
        for place, instruction in enumerate(block)
    )


def _is_read_first(following: Sequence[InstructionAccesses]) -> bool:
    for instruction in following:
        if any(access.location.startswith(_FLAG) for access in instruction.reads):
            return True
        if any(access.location.startswith(_FLAG) for access in instruction.writes):
            return False
    return False
