"""The same block of x86-64 with other addresses (thesis §8.3.1).

Table 8.4 compares `add [rcx+16], rbx; add [rcx+16], rbx` with the same instructions at another offset and
with another base. Here this is done to any block that accesses memory: in all variants the registers of the
addresses are ones that no instruction writes, so that nothing but memory can make a difference between them.
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

from inference.isa.block_changes import APART, Memory, Variants
from inference.isa.code.block import BlockError
from inference.isa.x86.blocks.block import body_of
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE

_REACH = 1 << 31
_NOT_READ_OR_WRITTEN = (OpAccess.NONE, OpAccess.NO_MEM_ACCESS)
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_THREAD_DATA = {Register.FS, Register.GS}
_BASES = (
    Register.RCX, Register.RDX, Register.RSI, Register.RDI, Register.RBX, Register.RAX,
    Register.R8, Register.R9, Register.R10, Register.R11, Register.R14, Register.R15,
    Register.RBP, Register.R12, Register.R13,
)  # fmt: skip
"""Bases in the order of preference: the first can be encoded everywhere, the last take an extra byte."""


@dataclass(frozen=True)
class _Address:
    base: RegisterValue
    displacement: int


def variants(code: bytes) -> Variants:
    """The block with the same address, other offsets, other bases; of a loop, its body.

    Raises `BlockError` where it has no address that can be chosen.
    """
    instructions = list(Decoder(64, body_of(code), ip=ADDRESS_OF_CODE))
    if not instructions or any(one.is_invalid for one in instructions):
        raise BlockError("these bytes are no basic block")
    places = [n for n, one in enumerate(instructions) if _is_free(one)]
    if not places:
        raise BlockError("no instruction of this block accesses memory at an address that can be chosen")
    others = sum(_touches(one) for one in instructions) - len(places)
    twice = len(places) == 1
    if twice:
        places = [places[0], len(instructions) + places[0]]
        instructions = [*instructions, *(one.copy() for one in instructions)]
    anchor, bases = _addresses([instructions[n] for n in places], instructions)
    count = range(len(places))
    wanted = {
        Memory.SAME: [anchor for _ in count],
        Memory.OFFSET: [_Address(anchor.base, anchor.displacement + APART * n) for n in count],
        Memory.BASE: [_Address(base, anchor.displacement) for base in bases],
    }
    made = {
        kind: _encoded(instructions, dict(zip(places, addresses, strict=True)))
        for kind, addresses in wanted.items()
    }
    return Variants(made, twice, others)


def _addresses(
    accessing: Sequence[Instruction], instructions: Sequence[Instruction]
) -> tuple[_Address, list[RegisterValue]]:
    """The address of the first access, and a base for each access of which the first is that one's."""
    written = _registers(instructions, _WRITES)
    first = accessing[0]
    signed = first.memory_displacement - 2**64 * (first.memory_displacement >> 63)
    displacement = signed if abs(signed) + APART * len(accessing) < _REACH else 0
    kept = RegisterExt.full_register(first.memory_base)
    in_use = _registers([_without_address(one) for one in instructions])
    free = [one for one in _BASES if one not in in_use and one != kept]
    if kept not in written:
        free.insert(0, kept)
    if len(free) < len(accessing):
        raise BlockError(
            f"the block accesses memory {len(accessing)} times, and has only {len(free)} general-purpose "
            "registers left to address it with: leave instructions out"
        )
    return _Address(free[0], displacement), free[: len(accessing)]


def _is_free(instruction: Instruction) -> bool:
    """Whether it accesses memory at an address that is written as base, index and displacement."""
    chosen = RegisterExt.is_gpr(instruction.memory_base) and not RegisterExt.is_gpr8(instruction.memory_index)
    threads = {instruction.segment_prefix} & _THREAD_DATA
    is_written = chosen and not threads and not instruction.is_vsib
    return is_written and OpKind.MEMORY in _kinds(instruction) and _touches(instruction)


def _touches(instruction: Instruction) -> bool:
    """Whether it reads or writes memory, also where no operand says so."""
    used = _information().info(instruction).used_memory()
    return any(one.access not in _NOT_READ_OR_WRITTEN for one in used)


def _kinds(instruction: Instruction) -> list[int]:
    return [instruction.op_kind(position) for position in range(instruction.op_count)]


def _registers(instructions: Sequence[Instruction], accesses: Sequence[int] = ()) -> set[RegisterValue]:
    """The general-purpose registers, 64 bits wide, that are accessed; () for in any way."""
    return {
        RegisterExt.full_register(one.register)
        for instruction in instructions
        for one in _information().info(instruction).used_registers()
        if RegisterExt.is_gpr(one.register) and (not accesses or one.access in accesses)
    }


def _without_address(instruction: Instruction) -> Instruction:
    """The same with an address that needs no register, where that can be chosen."""
    if not _is_free(instruction):
        return instruction
    found = instruction.copy()
    found.memory_base = found.memory_index = Register.NONE
    return found


def _encoded(instructions: Sequence[Instruction], addresses: dict[int, _Address]) -> bytes:
    encoder = Encoder(64)
    code = bytearray()
    for number, instruction in enumerate(instructions):
        one = instruction.copy()
        if number in addresses:
            _point(one, addresses[number])
        try:
            encoder.encode(one, ADDRESS_OF_CODE + len(code))
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
