"""Variants of a block of x86-64 with other addresses (thesis §8.3.1).

Table 8.4 compares `add [rcx+16], rbx; add [rcx+16], rbx` with the same instructions at another offset and
with another base. This module does so for any block that accesses memory: in all variants no instruction
writes the registers of the addresses, so that only memory can make a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from iced_x86 import (
    Decoder,
    Encoder,
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

from inference.isa.block_changes import OFFSET_DISTANCE, AddressRelation, MemoryVariants
from inference.isa.code.block import BlockError
from inference.isa.x86.blocks.block import body_of
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE

_REACH = 1 << 31  # exclusive limit of a displacement
_NOT_READ_OR_WRITTEN = (OpAccess.NONE, OpAccess.NO_MEM_ACCESS)
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_THREAD_DATA = {Register.FS, Register.GS}
_BASES = (
    Register.RCX, Register.RDX, Register.RSI, Register.RDI, Register.RBX, Register.RAX,
    Register.R8, Register.R9, Register.R10, Register.R11, Register.R14, Register.R15,
    Register.RBP, Register.R12, Register.R13,
)  # fmt: skip
"""Bases in order of preference: the first can be encoded everywhere, the last need an extra byte."""


@dataclass(frozen=True)
class _Address:
    base: RegisterValue
    displacement: int


def variants(code: bytes) -> MemoryVariants:
    """The block with the same address, other offsets, other bases; of a loop, its body.

    Raises `BlockError` where no address can be chosen.
    """
    instructions = list(Decoder(64, body_of(code), ip=ADDRESS_OF_CODE))
    if not instructions or any(instruction.is_invalid for instruction in instructions):
        raise BlockError("these bytes are no basic block")
    places = [n for n, instruction in enumerate(instructions) if _is_free(instruction)]
    if not places:
        raise BlockError("no instruction of this block accesses memory at an address that can be chosen")
    unchosen = sum(_accesses_memory(instruction) for instruction in instructions) - len(places)
    twice = len(places) == 1
    if twice:
        places = [places[0], len(instructions) + places[0]]
        instructions = [*instructions, *(instruction.copy() for instruction in instructions)]
    first, bases = _addresses([instructions[n] for n in places], instructions)
    offsets = [first.displacement + OFFSET_DISTANCE * n for n in range(len(places))]
    addresses_by_relation = {
        AddressRelation.SAME: [first] * len(places),
        AddressRelation.OFFSET: [_Address(first.base, offset) for offset in offsets],
        AddressRelation.BASE: [_Address(base, first.displacement) for base in bases],
    }
    code_by_relation = {
        kind: _encode(instructions, dict(zip(places, addresses, strict=True)))
        for kind, addresses in addresses_by_relation.items()
    }
    return MemoryVariants(code_by_relation, twice, unchosen)


def _addresses(
    accessing: Sequence[Instruction], instructions: Sequence[Instruction]
) -> tuple[_Address, list[RegisterValue]]:
    """The address of the first access, and a base for each access, the first one's own first."""
    written = _registers(instructions, _WRITES)
    first = accessing[0]
    signed = first.memory_displacement - 2**64 * (first.memory_displacement >> 63)
    displacement = signed if abs(signed) + OFFSET_DISTANCE * len(accessing) < _REACH else 0
    original = RegisterExt.full_register(first.memory_base)
    in_use = _registers([_without_address(register) for register in instructions])
    free = [register for register in _BASES if register not in in_use and register != original]
    if original not in written:
        free.insert(0, original)
    if len(free) < len(accessing):
        raise BlockError(
            f"the block accesses memory {len(accessing)} times, and has only {len(free)} general-purpose "
            "registers left to address it with: leave instructions out"
        )
    return _Address(free[0], displacement), free[: len(accessing)]


def _is_free(instruction: Instruction) -> bool:
    """Whether it accesses memory at an explicit address of base, index and displacement."""
    has_free_base = RegisterExt.is_gpr(instruction.memory_base) and not RegisterExt.is_gpr8(
        instruction.memory_index
    )
    threads = {instruction.segment_prefix} & _THREAD_DATA
    is_written = has_free_base and not threads and not instruction.is_vsib
    return is_written and OpKind.MEMORY in _kinds(instruction) and _accesses_memory(instruction)


def _accesses_memory(instruction: Instruction) -> bool:
    """Whether it reads or writes memory, also implicitly."""
    used = _information().info(instruction).used_memory()
    return any(memory.access not in _NOT_READ_OR_WRITTEN for memory in used)


def _kinds(instruction: Instruction) -> list[int]:
    return [instruction.op_kind(position) for position in range(instruction.op_count)]


def _registers(instructions: Sequence[Instruction], accesses: Sequence[int] = ()) -> set[RegisterValue]:
    """The general-purpose registers, 64 bits wide, with one of these accesses; () for any access."""
    return {
        RegisterExt.full_register(register.register)
        for instruction in instructions
        for register in _information().info(instruction).used_registers()
        if RegisterExt.is_gpr(register.register) and (not accesses or register.access in accesses)
    }


def _without_address(instruction: Instruction) -> Instruction:
    """The instruction with an address without registers, where it can be chosen."""
    if not _is_free(instruction):
        return instruction
    copy = instruction.copy()
    copy.memory_base = copy.memory_index = Register.NONE
    return copy


def _encode(instructions: Sequence[Instruction], addresses: dict[int, _Address]) -> bytes:
    encoder = Encoder(64)
    code = bytearray()
    for number, instruction in enumerate(instructions):
        copy = instruction.copy()
        if number in addresses:
            _point(copy, addresses[number])
        try:
            encoder.encode(copy, ADDRESS_OF_CODE + len(code))
        except ValueError as error:
            raise BlockError(
                f"instruction {number + 1} cannot be written with another address: {error}"
            ) from error
        code += encoder.take_buffer()
    return bytes(code)


def _point(instruction: Instruction, address: _Address) -> None:
    instruction.memory_base = address.base
    instruction.memory_index = Register.NONE
    instruction.memory_index_scale = 1
    instruction.memory_displacement = address.displacement % 2**64
    instruction.memory_displ_size = 8 if address.displacement else 0


@cache
def _information() -> InstructionInfoFactory:
    return InstructionInfoFactory()
