"""Taking loop bodies apart again, by iced alone: what each instruction is, reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from iced_x86 import (
    Decoder,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
    UsedMemory,
)

from inference.isa.x86 import forms_by_text
from inference.isa.x86.holes import ADDRESS_SHAPES
from inference.isa.x86.instances import ADDRESS_OF_CODE

READS = {
    OpAccess.READ,
    OpAccess.COND_READ,
    OpAccess.READ_WRITE,
    OpAccess.READ_COND_WRITE,
    OpAccess.COND_WRITE,
}
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
INFO = InstructionInfoFactory()


def decoded(code: bytes) -> list[Instruction]:
    return list(Decoder(64, code, ip=ADDRESS_OF_CODE))


def accesses(instruction: Instruction) -> tuple[dict[int, int], dict[int, int]]:
    """{family: bytes} of what is read and of what is written."""
    read: dict[int, int] = {}
    written: dict[int, int] = {}
    for used in INFO.info(instruction).used_registers():
        family = RegisterExt.full_register(used.register)
        size = RegisterExt.size(used.register)
        for letters, found in ((READS, read), (WRITES, written)):
            if used.access in letters:
                found[family] = max(size, found.get(family, 0))
    return read, written


def is_within_a_line(offset: int, used: UsedMemory) -> bool:
    """Whether what is accessed there is aligned, so that it crosses no cache line."""
    size = MemorySizeExt.size(used.memory_size) or 64
    return offset % min(1 << (size - 1).bit_length(), 64) == 0


def scheme_sequence(terms: Sequence[tuple[str, int]], body: list[Instruction]) -> list[str]:
    """The scheme of each instruction, recognised by opcode, registers and immediates; fails for any other."""
    return [next(text for text, _ in terms if is_instance_of(instruction, text)) for instruction in body]


def is_instance_of(instruction: Instruction, text: str) -> bool:
    form = forms_by_text()[text]
    if instruction.code != form.code or instruction.op_count != len(form.holes):
        return False
    seen_immediate = False
    for position, hole in enumerate(form.holes):
        if hole.kind == "register":
            if instruction.op_kind(position) != OpKind.REGISTER:
                return False
            register = instruction.op_register(position)
            high = Register.AH <= register <= Register.BH
            if hole.fixed and register != hole.registers[0]:
                return False
            if hole.width == 8 and high != (hole.name == "GPR[8h]" or hole.name in {"ah", "bh", "ch", "dh"}):
                return False
        elif hole.kind == "immediate":
            kind = OpKind.IMMEDIATE8_2ND if seen_immediate else hole.op_kind
            seen_immediate = True
            if instruction.op_kind(position) != kind:
                return False
            if hole.fixed and instruction.immediate(position) != hole.value:
                return False
        elif hole.kind == "memory":
            if instruction.op_kind(position) != OpKind.MEMORY:
                return False
        elif _shape(instruction) != _shape_of(hole.shape):
            return False
    return True


def _shape(instruction: Instruction) -> tuple[bool, bool, int, int]:
    base, index = instruction.memory_base, instruction.memory_index
    return (
        base in {Register.NONE, Register.RIP},
        index == Register.NONE,
        instruction.memory_index_scale,
        instruction.memory_displ_size,
    )


def _shape_of(name: str) -> tuple[bool, bool, int, int]:
    shape = ADDRESS_SHAPES[name]
    return (
        shape.base in {Register.NONE, Register.RIP},
        shape.index == Register.NONE,
        shape.scale,
        shape.displacement_size,
    )
