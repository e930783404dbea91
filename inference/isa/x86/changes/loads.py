"""Copies of a block with all loads before all stores.

A tool that makes memory accesses wait for each other, because they alias or it assumes so, then has one such
dependency instead of one per copy; instructions, ports and registers are the same. An instruction that loads
and stores is split into a load, the computation on a register, and a store.
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

from inference.isa.x86.changes.block_accesses import READS, WRITES
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE

_FREE = "RAX RCX RDX RBX RBP RSI RDI R8 R9 R10 R11 R12 R13 R14 R15".split()  # noqa: SIM905
WIDTHS = {
    1: (OpCodeOperandKind.R8_OR_MEM, Code.MOVZX_R32_RM8, Code.MOV_RM8_R8),
    2: (OpCodeOperandKind.R16_OR_MEM, Code.MOVZX_R32_RM16, Code.MOV_RM16_R16),
    4: (OpCodeOperandKind.R32_OR_MEM, Code.MOV_R32_RM32, Code.MOV_RM32_R32),
    8: (OpCodeOperandKind.R64_OR_MEM, Code.MOV_R64_RM64, Code.MOV_RM64_R64),
}
"""By bytes: the kind of operand that also takes a register, its load, and its store."""

_NUMBERED = 8  # the first register whose name is a number: r8
_PARTS = {
    1: ("AL CL DL BL SPL BPL SIL DIL", "L"),
    2: ("AX CX DX BX SP BP SI DI", "W"),
    4: ("EAX ECX EDX EBX ESP EBP ESI EDI", "D"),
    8: ("RAX RCX RDX RBX RSP RBP RSI RDI", ""),
}
"""By bytes: the parts of the first eight registers, and the suffix of the others."""


def loads_first(instructions: Sequence[Instruction], copies: int) -> bytes | None:
    """The machine code without lock prefixes; None where nothing changes, or no split is possible."""
    factory = InstructionInfoFactory()
    infos = [factory.info(instruction) for instruction in instructions]
    free = free_general(instructions)
    accesses = [[access.access for access in info.used_memory()] for info in infos]
    reading = [any(access in READS for access in used) for used in accesses]
    writing = [any(access in WRITES for access in used) for used in accesses]
    if not (any(reading) and any(writing)):
        return None
    loads, stores = b"", b""
    for instruction, reads, writes in zip(instructions, reading, writing, strict=True):
        split = _split(instruction, free, reads, writes)
        if split is None:
            return None
        try:
            loads += b"".join(map(encode, split.first))
            stores += b"".join(map(encode, split.last))
        except ValueError:  # the high half of a register beside one that was free
            return None
    return loads * copies + stores * copies


def free_general(instructions: Sequence[Instruction]) -> RegisterValue | None:
    """A 64-bit register that no instruction uses; None without."""
    factory = InstructionInfoFactory()
    used = {
        RegisterExt.full_register(register.register)
        for instruction in instructions
        for register in factory.info(instruction).used_registers()
    }
    return next((register for name in _FREE if (register := getattr(Register, name)) not in used), None)


def without_locks(instructions: Sequence[Instruction]) -> bytes | None:
    """The machine code without lock prefixes; None where there are none."""
    if not any(instruction.has_lock_prefix for instruction in instructions):
        return None
    copies = [instruction.copy() for instruction in instructions]
    for instruction in copies:
        instruction.has_lock_prefix = False
    return b"".join(map(encode, copies))


@dataclass(frozen=True, slots=True)
class _SplitInstruction:
    """The first instructions, and the stores at the end."""

    first: list[Instruction]
    last: list[Instruction]


def _split(
    instruction: Instruction, free: RegisterValue | None, reading: bool, writing: bool
) -> _SplitInstruction | None:
    """An instruction with its store split off, so that a load can be put before it; None if impossible.

    What reads and writes memory becomes a load, the computation in the register `free`, and a store.
    """
    if not writing:
        return _SplitInstruction([instruction], [])
    place = memory_position(instruction)
    if place is None or instruction.mnemonic == Mnemonic.XCHG:  # the stack, a string; it locks by itself
        return None
    if not reading:
        return _SplitInstruction([], [instruction])
    width = WIDTHS.get(MemorySizeExt.size(instruction.memory_size))
    if width is None or free is None or instruction.op_code().op_kind(place) != width[0]:
        return None
    _, load, store = width
    where = MemoryOperand(
        instruction.memory_base,
        instruction.memory_index,
        instruction.memory_index_scale,
        instruction.memory_displacement - 2**64 * (instruction.memory_displacement >> 63),
        instruction.memory_displ_size,
    )
    size = MemorySizeExt.size(instruction.memory_size)
    wide = part_of_register(free, max(size, 4))
    narrow = part_of_register(free, size)
    computed = instruction.copy()
    computed.has_lock_prefix = False
    computed.set_op_kind(place, OpKind.REGISTER)
    computed.set_op_register(place, narrow)
    loaded = Instruction.create_reg_mem(load, wide, where)
    return _SplitInstruction([loaded, computed], [Instruction.create_mem_reg(store, where, narrow)])


def memory_position(instruction: Instruction) -> int | None:
    """The position of the operand in memory; None where there is none."""
    positions = range(instruction.op_count)
    return next((at for at in positions if instruction.op_kind(at) == OpKind.MEMORY), None)


def part_of_register(full: RegisterValue, size: int) -> RegisterValue:
    """The part of a 64-bit register with so many bytes."""
    first, ending = _PARTS[size]
    number = full - Register.RAX
    name = first.split()[number] if number < _NUMBERED else f"R{number}{ending}"
    register: RegisterValue = getattr(Register, name)
    return register


def encode(instruction: Instruction) -> bytes:
    """The machine code. Raises `ValueError` for operands that cannot be combined."""
    encoder = Encoder(64)
    encoder.encode(instruction, ADDRESS_OF_CODE)
    return encoder.take_buffer()
