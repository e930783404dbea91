"""Copies of a block with all that they load before all that they store.

A tool that lets memory accesses wait for each other, for real or because it takes them to alias, has one
such way left where there was one per copy; instructions, ports and registers are the same as before. What
both loads and stores is parted into a load, the computation on a register, and a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iced_x86 import (
    Code,
    Encoder,
    Instruction,
    InstructionInfoFactory,
    MemoryOperand,
    MemorySizeExt,
    Mnemonic,
    OpCodeOperandKind,
    OpKind,
    Register,
    RegisterExt,
)

from inference.isa.x86.changes.touched import READS, WRITES
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE

_FREE = "RAX RCX RDX RBX RBP RSI RDI R8 R9 R10 R11 R12 R13 R14 R15".split()  # noqa: SIM905
WIDTHS = {
    1: (OpCodeOperandKind.R8_OR_MEM, Code.MOVZX_R32_RM8, Code.MOV_RM8_R8),
    2: (OpCodeOperandKind.R16_OR_MEM, Code.MOVZX_R32_RM16, Code.MOV_RM16_R16),
    4: (OpCodeOperandKind.R32_OR_MEM, Code.MOV_R32_RM32, Code.MOV_RM32_R32),
    8: (OpCodeOperandKind.R64_OR_MEM, Code.MOV_R64_RM64, Code.MOV_RM64_R64),
}
"""By bytes: the operand of an instruction that takes a register instead, what loads it, what stores it."""

_NUMBERED = 8
_PARTS = {
    1: ("AL CL DL BL SPL BPL SIL DIL", "L"),
    2: ("AX CX DX BX SP BP SI DI", "W"),
    4: ("EAX ECX EDX EBX ESP EBP ESI EDI", "D"),
    8: ("RAX RCX RDX RBX RSP RBP RSI RDI", ""),
}
"""By bytes: the parts of the first eight registers, and what the parts of the others end in."""


def loads_first(instructions: Sequence[Instruction], copies: int) -> bytes | None:
    """The machine code, without lock prefixes; None where nothing is to be parted, or something cannot be."""
    factory = InstructionInfoFactory()
    infos = [factory.info(one) for one in instructions]
    free = free_general(instructions)
    accesses = [[each.access for each in info.used_memory()] for info in infos]
    reading = [any(each in READS for each in some) for some in accesses]
    writing = [any(each in WRITES for each in some) for some in accesses]
    if not (any(reading) and any(writing)):
        return None
    begin, end = b"", b""
    for one, reads, writes in zip(instructions, reading, writing, strict=True):
        parted = _parted(one, free, reads, writes)
        if parted is None:
            return None
        try:
            begin += b"".join(map(encoded, parted.first))
            end += b"".join(map(encoded, parted.last))
        except ValueError:  # the high half of a register beside one that was free
            return None
    return begin * copies + end * copies


def free_general(instructions: Sequence[Instruction]) -> RegisterValue | None:
    """A 64-bit register that no instruction uses; None where all are taken."""
    factory = InstructionInfoFactory()
    used = {
        RegisterExt.full_register(each.register)
        for one in instructions
        for each in factory.info(one).used_registers()
    }
    return next((each for name in _FREE if (each := getattr(Register, name)) not in used), None)


def unlocked(instructions: Sequence[Instruction]) -> bytes | None:
    """The machine code without lock prefixes; None where there is none."""
    if not any(one.has_lock_prefix for one in instructions):
        return None
    found = [one.copy() for one in instructions]
    for one in found:
        one.has_lock_prefix = False
    return b"".join(map(encoded, found))


@dataclass(frozen=True, slots=True)
class _PartedInstruction:
    """What is done at first, and what stores at the end."""

    first: list[Instruction]
    last: list[Instruction]


def _parted(
    one: Instruction, free: RegisterValue | None, reading: bool, writing: bool
) -> _PartedInstruction | None:
    if not writing:
        return _PartedInstruction([one], [])
    place = next((at for at in range(one.op_count) if one.op_kind(at) == OpKind.MEMORY), None)
    if place is None or one.mnemonic == Mnemonic.XCHG:  # the stack, a string; it locks by itself
        return None
    if not reading:
        return _PartedInstruction([], [one])
    width = WIDTHS.get(MemorySizeExt.size(one.memory_size))
    if width is None or free is None or one.op_code().op_kind(place) != width[0]:
        return None
    _, load, store = width
    where = MemoryOperand(
        one.memory_base,
        one.memory_index,
        one.memory_index_scale,
        one.memory_displacement - 2**64 * (one.memory_displacement >> 63),
        one.memory_displ_size,
    )
    size = MemorySizeExt.size(one.memory_size)
    wide = part_of_register(free, max(size, 4))
    narrow = part_of_register(free, size)
    computed = one.copy()
    computed.has_lock_prefix = False
    computed.set_op_kind(place, OpKind.REGISTER)
    computed.set_op_register(place, narrow)
    loaded = Instruction.create_reg_mem(load, wide, where)
    return _PartedInstruction([loaded, computed], [Instruction.create_mem_reg(store, where, narrow)])


def part_of_register(full: RegisterValue, size: int) -> RegisterValue:
    """The part of a 64-bit register with so many bytes."""
    first, ending = _PARTS[size]
    number = full - Register.RAX
    name = first.split()[number] if number < _NUMBERED else f"R{number}{ending}"
    found: RegisterValue = getattr(Register, name)
    return found


def encoded(instruction: Instruction) -> bytes:
    """Its machine code. Raises `ValueError` for operands that do not go together."""
    encoder = Encoder(64)
    encoder.encode(instruction, ADDRESS_OF_CODE)
    return encoder.take_buffer()
