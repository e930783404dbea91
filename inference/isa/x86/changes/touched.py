"""Which instructions of a block read and write which registers, flags and places in memory, as decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from iced_x86 import (
    EncodingKind,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    Register,
    RegisterExt,
)

from inference.isa.block_changes import CarrierRole
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names

READS = (OpAccess.READ, OpAccess.READ_WRITE, OpAccess.COND_READ, OpAccess.READ_COND_WRITE)
WRITES = (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE)
STACK = frozenset((Register.RSP,))
_CUT = (RegisterExt.is_gpr64, RegisterExt.is_zmm, RegisterExt.is_k)
_THROUGH_CARRY = frozenset((Mnemonic.RCL, Mnemonic.RCR))
"""What processors take to read a flag although it is rotated by 0."""


FLAGS = "flags"
"""Stands for all of them together."""


@dataclass(frozen=True, slots=True, order=True)
class StoredPlace:
    """A place in memory as it is written, with the bytes that are stored there."""

    base: RegisterValue
    index: RegisterValue
    scale: int
    displacement: int
    size: int

    def overlaps(self, other: StoredPlace) -> bool:
        """Whether both have a byte in common, as far as their addresses tell."""
        if (self.base, self.index, self.scale) != (other.base, other.index, other.scale):
            return False
        begin, end = max(self.displacement, other.displacement), min(self.end, other.end)
        return begin < end

    @property
    def end(self) -> int:
        """The displacement behind its last byte."""
        return self.displacement + self.size

    def __str__(self) -> str:
        names = register_names()
        parts = [names[self.base]] if self.base else []
        parts += [f"{names[self.index]}*{self.scale}"] if self.index else []
        return f"[{'+'.join([*parts, hex(self.displacement)] if self.displacement else parts)}]"


class Touched:
    """Who reads and writes which register, the flags and which places in memory."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._reads: list[set[object]] = []
        self._writes: list[set[object]] = []
        self.addresses: set[RegisterValue] = set()
        self.written: set[RegisterValue] = set()
        self.used: set[RegisterValue] = set()
        self.legacy = True
        for one in instructions:
            self._take_in(one)
        places = {one for each in self._writes for one in each if isinstance(one, StoredPlace)}
        self.stored = sorted(one for one in places if not {one.base, one.index} & self.written)

    def _take_in(self, one: Instruction) -> None:
        info = _information().info(one)
        reads: set[object] = set()
        writes: set[object] = set()
        for used in info.used_registers():
            full = _full(used.register)
            if full is not None:
                self.used.add(full)
                if used.access in READS:
                    reads.add(full)
                if used.access in WRITES:
                    writes.add(full)
                    self.written.add(full)
                if used.access == OpAccess.COND_WRITE or _is_partial(used.register):
                    reads.add(full)  # of what it may leave as it was
        reads |= {FLAGS} if one.rflags_read or one.mnemonic in _THROUGH_CARRY else set()
        writes |= {FLAGS} if one.rflags_modified else set()
        for memory in info.used_memory():
            displacement = memory.displacement - 2**64 * (memory.displacement >> 63)
            size = _bytes_of(one)
            place = StoredPlace(memory.base, memory.index, memory.scale, displacement, size)
            self.addresses |= {memory.base, memory.index} - {Register.NONE}
            if memory.access in READS:
                reads.add(place)
            if memory.access in WRITES and memory.base not in STACK:
                writes.add(place)
        self.legacy = self.legacy and one.encoding == EncodingKind.LEGACY
        self._reads.append(reads)
        self._writes.append(writes)

    def writers(self, what: object) -> tuple[int, ...]:
        """The instructions that write a register, a place in memory, or `FLAGS`."""
        return tuple(n for n, each in enumerate(self._writes) if what in each)

    def readers(self, what: object) -> tuple[int, ...]:
        return tuple(n for n, each in enumerate(self._reads) if what in each)

    def role(self, what: object) -> CarrierRole:
        """What the block does with it."""
        pairs = zip(self._reads, self._writes, strict=True)
        if any(what in reads and what in writes for reads, writes in pairs):
            return CarrierRole.ACCUMULATOR
        if any(_is_among(what, each) for each in self._reads):
            return CarrierRole.BETWEEN
        return CarrierRole.RESULT


def _is_among(what: object, some: set[object]) -> bool:
    """Whether it is one of them; of a place in memory, whether a byte of it is one of theirs."""
    if not isinstance(what, StoredPlace):
        return what in some
    return any(isinstance(one, StoredPlace) and what.overlaps(one) for one in some)


def _full(register: RegisterValue) -> RegisterValue | None:
    """The whole register that one is a part of, where it can be cut."""
    full = RegisterExt.full_register(register)
    return full if any(known(full) for known in _CUT) else None


def _is_partial(register: RegisterValue) -> bool:
    return RegisterExt.is_gpr8(register) or RegisterExt.is_gpr16(register)


def _bytes_of(instruction: Instruction) -> int:
    return MemorySizeExt.size(instruction.memory_size) or 8


@cache
def _information() -> InstructionInfoFactory:
    return InstructionInfoFactory()
