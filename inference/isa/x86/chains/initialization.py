"""Instructions that initialize registers and memory without waiting for a chain's values."""

from __future__ import annotations

from iced_x86 import Code, Instruction, MemoryOperand

from inference.isa.x86.chains.connectors import LEGACY_MOVES, VECTOR_MOVES, assemble, register_of
from inference.isa.x86.holes import GPR8, GPR16, GPR32, GPR64, MASK, MMX, XMM, YMM, ZMM, Hole
from inference.isa.x86.iced_types import CodeValue

SCRATCH = 13
"""The general-purpose register through which constants get to vectors and memory; chains use it too, but
always write it first."""

UNWRITTEN = 15
"""The general-purpose register that no chain writes."""

_WIDE = {
    YMM.width: (YMM, Code.VEX_VPBROADCASTQ_YMM_XMMM64),
    ZMM.width: (ZMM, Code.EVEX_VPBROADCASTQ_ZMM_K1Z_XMMM64),
}
_STORES: dict[int, tuple[CodeValue, Hole]] = {
    8: (Code.MOV_RM8_R8, GPR8),
    16: (Code.MOV_RM16_R16, GPR16),
    32: (Code.MOV_RM32_R32, GPR32),
    64: (Code.MOV_RM64_R64, GPR64),
}
_CONSTANT_STORES = {
    8: Code.MOV_RM8_IMM8,
    16: Code.MOV_RM16_IMM16,
    32: Code.MOV_RM32_IMM32,
    64: Code.MOV_RM64_IMM32,
}


def overwrite_register(bank: str, family: int, *, legacy: bool) -> Instruction:
    """Writes a register without reading it."""
    if bank == "mmx":  # not every core knows pxor of these for a zero idiom
        return assemble(Code.MOVQ_MM_RM64, (MMX, family), (GPR64, UNWRITTEN))
    return _general(family, 1) if bank == "general" else _zero(family, legacy=legacy)


def _general(family: int, value: int) -> Instruction:
    if value < 1 << 31:
        return Instruction.create_reg_i32(Code.MOV_R32_IMM32, register_of(GPR32, family), value)
    return Instruction.create_reg_u64(Code.MOV_R64_IMM64, register_of(GPR64, family), value)


def load_value(bank: str, width: int, family: int, value: int, *, legacy: bool) -> list[Instruction]:
    """Writes these 64 bits to a register, repeated where it is wider.

    For masks, the only possible value is all ones.
    """
    if bank == "general":
        return [_general(family, value)]
    if bank == "mask":
        full_mask = (MASK, CONSTANT_MASK)
        return [assemble(Code.VEX_KXNORW_KR_KR_KR, (MASK, family), full_mask, full_mask)]
    if not value:
        return [_zero(family, legacy=legacy)]
    load_constant, low = _general(SCRATCH, value), (XMM, family)
    if legacy:
        moved = assemble(Code.MOVQ_XMM_RM64, low, (GPR64, SCRATCH))
        return [load_constant, moved, assemble(Code.PUNPCKLQDQ_XMM_XMMM128, low, low)]
    moved = assemble(Code.VEX_VMOVQ_XMM_RM64, low, (GPR64, SCRATCH))
    hole, code = _WIDE.get(width, (XMM, Code.VEX_VPBROADCASTQ_XMM_XMMM64))
    return [load_constant, moved, assemble(code, (hole, family), low)]


def _zero(family: int, *, legacy: bool) -> Instruction:
    register = (XMM, family)
    if legacy:
        return assemble(Code.XORPS_XMM_XMMM128, register, register)
    return assemble(Code.VEX_VXORPS_XMM_XMM_XMMM128, register, register, register)


CONSTANT_MASK = 7
"""A mask register that chains do not write."""


def overwrite_memory(width: int, base: int, vector: int) -> Instruction:
    """Writes memory without reading it: a constant, or the constant vector register `vector`.

    Raises `KeyError` for a width without a store.
    """
    address = MemoryOperand(register_of(GPR64, base))
    if width in _CONSTANT_STORES:
        return Instruction.create_mem_i32(_CONSTANT_STORES[width], address, 1)
    store, _, hole, _ = VECTOR_MOVES[width]
    return Instruction.create_mem_reg(store, address, register_of(hole, vector))


def store_value(width: int, base: int, value: int, vector: int, *, legacy: bool) -> list[Instruction]:
    """Writes a value to memory, by way of the vector register `vector`.

    It is repeated where it is wider than 64 bits.

    Raises `KeyError` for a width without a store.
    """
    address = MemoryOperand(register_of(GPR64, base))
    if width in _STORES:
        code, hole = _STORES[width]
        load_constant = _general(SCRATCH, value)
        return [load_constant, Instruction.create_mem_reg(code, address, register_of(hole, SCRATCH))]
    store, _, hole, _ = (LEGACY_MOVES if legacy else VECTOR_MOVES)[width]
    instructions = load_value("vector", width, vector, value, legacy=legacy)
    return [*instructions, Instruction.create_mem_reg(store, address, register_of(hole, vector))]
