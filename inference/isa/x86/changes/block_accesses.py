"""Registers, flags and places in memory that the instructions of a block read and write, as decoded."""

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
_CUTTABLE = (RegisterExt.is_gpr64, RegisterExt.is_zmm, RegisterExt.is_k)
_THROUGH_CARRY = frozenset((Mnemonic.RCL, Mnemonic.RCR))
"""Processors assume that these read a flag even with a count of 0."""


FLAGS = "flags"
"""Stands for all flags together."""


@dataclass(frozen=True, slots=True, order=True)
class StoredPlace:
    """A stored place in memory, as its address is written, and its size in bytes."""

    base: RegisterValue
    index: RegisterValue
    scale: int
    displacement: int
    size: int

    def overlaps(self, other: StoredPlace) -> bool:
        """Whether both have a byte in common, judging by their addresses."""
        if (self.base, self.index, self.scale) != (other.base, other.index, other.scale):
            return False
        start, end = max(self.displacement, other.displacement), min(self.end, other.end)
        return start < end

    @property
    def end(self) -> int:
        """The displacement behind its last byte."""
        return self.displacement + self.size

    def __str__(self) -> str:
        names = register_names()
        parts = [names[self.base]] if self.base else []
        parts += [f"{names[self.index]}*{self.scale}"] if self.index else []
        return f"[{'+'.join([*parts, hex(self.displacement)] if self.displacement else parts)}]"


class BlockAccesses:
    """The readers and writers of registers, the flags and places in memory."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._reads: list[set[object]] = []
        self._writes: list[set[object]] = []
        self.addresses: set[RegisterValue] = set()
        self.written: set[RegisterValue] = set()
        self.used: set[RegisterValue] = set()
        self.legacy = True
        for step in instructions:
            self._take_in(step)
        places = {step for writes in self._writes for step in writes if isinstance(step, StoredPlace)}
        self.stored = sorted(step for step in places if not {step.base, step.index} & self.written)

    def _take_in(self, instruction: Instruction) -> None:
        """Note what an instruction reads and writes; a conditional or partial write also reads."""
        info = _information().info(instruction)
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
        reads |= {FLAGS} if instruction.rflags_read or instruction.mnemonic in _THROUGH_CARRY else set()
        writes |= {FLAGS} if instruction.rflags_modified else set()
        for memory in info.used_memory():
            displacement = memory.displacement - 2**64 * (memory.displacement >> 63)
            size = _bytes_of(instruction)
            place = StoredPlace(memory.base, memory.index, memory.scale, displacement, size)
            self.addresses |= {memory.base, memory.index} - {Register.NONE}
            if memory.access in READS:
                reads.add(place)
            if memory.access in WRITES and memory.base not in STACK:
                writes.add(place)
        self.legacy = self.legacy and instruction.encoding == EncodingKind.LEGACY
        self._reads.append(reads)
        self._writes.append(writes)

    def writers(self, resource: object) -> tuple[int, ...]:
        """The instructions that write a register, a place in memory, or `FLAGS`."""
        return tuple(n for n, writes in enumerate(self._writes) if resource in writes)

    def readers(self, resource: object) -> tuple[int, ...]:
        return tuple(n for n, reads in enumerate(self._reads) if resource in reads)

    def role(self, resource: object) -> CarrierRole:
        pairs = zip(self._reads, self._writes, strict=True)
        if any(resource in reads and resource in writes for reads, writes in pairs):
            return CarrierRole.ACCUMULATOR
        if any(_is_among(resource, read) for read in self._reads):
            return CarrierRole.BETWEEN
        return CarrierRole.RESULT


def _is_among(accessed: object, resources: set[object]) -> bool:
    """Whether it is one of the resources; for a place in memory, whether it overlaps one."""
    if not isinstance(accessed, StoredPlace):
        return accessed in resources
    return any(isinstance(resource, StoredPlace) and accessed.overlaps(resource) for resource in resources)


def _full(register: RegisterValue) -> RegisterValue | None:
    """The full register, None where it cannot be cut."""
    full = RegisterExt.full_register(register)
    return full if any(is_of_class(full) for is_of_class in _CUTTABLE) else None


def _is_partial(register: RegisterValue) -> bool:
    return RegisterExt.is_gpr8(register) or RegisterExt.is_gpr16(register)


def _bytes_of(instruction: Instruction) -> int:
    return MemorySizeExt.size(instruction.memory_size) or 8


@cache
def _information() -> InstructionInfoFactory:
    return InstructionInfoFactory()
