"""Start values of registers and memory that a block of x86-64 reads (`start_values`).

Registers that only address memory are no inputs: with other values the block would access other memory, which
is another finding. Neither are flags, which always start cleared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from iced_x86 import Decoder, Instruction, OpAccess, Register, RegisterExt

from inference.isa.start_values import BlockInput, BlockReads, InputKind
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names
from inference.isa.x86.steps import READS, information

_WRITES = (OpAccess.WRITE, OpAccess.READ_WRITE)  # conditional ones may leave what was there before
_MEMORY_READS = (*READS, OpAccess.COND_WRITE)  # a masked store leaves some of what was there
_HIGH = (Register.AH, Register.BH, Register.CH, Register.DH)
_NARROW = 32
"""Bits of the narrowest general-purpose register whose write sets the full register."""


def reads_of(codes: Iterable[bytes]) -> BlockReads:
    """The start values that a block reads, from the code of each instruction: registers first, in order."""
    reading = _InputTracker()
    for code in codes:
        reading.execute(Decoder(64, code).decode())
    return reading.result()


class _InputTracker:
    """Registers and memory read and written so far; registers by their full one."""

    def __init__(self) -> None:
        self._written: set[RegisterValue] = set()
        self._addresses: set[RegisterValue] = {Register.RSP}
        self._read: dict[RegisterValue, set[RegisterValue]] = defaultdict(set)
        self._reads_memory = False

    def execute(self, instruction: Instruction) -> None:
        used = information(instruction)
        addressing: set[RegisterValue] = set()
        for place in used.used_memory():
            if place.access != OpAccess.NO_MEM_ACCESS:
                self._reads_memory |= place.access in _MEMORY_READS
                addressing |= {part for part in (place.base, place.index) if part}
        self._addresses |= {RegisterExt.full_register(part) for part in addressing}
        registers = [(part.register, part.access) for part in used.used_registers()]
        for register, access in registers:
            full = RegisterExt.full_register(register)
            if access in READS and register not in addressing and full not in self._written:
                self._read[full].add(register)
        for register, access in registers:
            if access in _WRITES and not _is_part(register):
                self._written.add(RegisterExt.full_register(register))

    def result(self) -> BlockReads:
        names = register_names()
        addresses = frozenset(names[register] for register in self._addresses if RegisterExt.is_gpr(register))
        return BlockReads(tuple(self._inputs(names)), addresses)

    def _inputs(self, names: Mapping[int, str]) -> Iterator[BlockInput]:
        read = [
            part
            for full in sorted(self._read.keys() - {Register.RSP})
            for part in _distinct_parts(self._read[full])
        ]
        for register in filter(RegisterExt.is_gpr, read):
            low = 8 if register in _HIGH else 0
            full = names[RegisterExt.full_register(register)]
            bits = 8 * RegisterExt.size(register)
            yield BlockInput(InputKind.REGISTER, names[register], full, low, bits)
        vectors = [names[part] for part in read if _is_filled_as_vectors_are(part)]
        if vectors:
            yield BlockInput(InputKind.VECTOR, ", ".join(vectors))
        if masks := [names[part] for part in read if RegisterExt.is_k(part)]:
            yield BlockInput(InputKind.MASK, ", ".join(masks))
        if self._reads_memory:
            yield BlockInput(InputKind.MEMORY, "memory")


def _is_part(register: RegisterValue) -> bool:
    """Whether a write of this general-purpose register keeps other bits of the full one."""
    return RegisterExt.is_gpr(register) and 8 * RegisterExt.size(register) < _NARROW


def _distinct_parts(registers: Iterable[RegisterValue]) -> list[RegisterValue]:
    """All parts of a general-purpose register, the widest first; of other registers only the widest."""
    parts = sorted(registers, key=lambda register: (-RegisterExt.size(register), register))
    return parts if RegisterExt.is_gpr(parts[0]) else parts[:1]


def _is_filled_as_vectors_are(register: RegisterValue) -> bool:
    banks = (RegisterExt.is_vector_register, RegisterExt.is_mm, RegisterExt.is_st)
    return any(is_of_bank(register) for is_of_bank in banks)
