"""What makes registers and memory ready: instructions that wait for nothing that a chain computes."""

from __future__ import annotations

from iced_x86 import Code, Instruction, MemoryOperand

from inference.isa.x86.chains.connectors import LEGACY_MOVES, VECTOR_MOVES, assembled, register_of
from inference.isa.x86.holes import GPR8, GPR16, GPR32, GPR64, MASK, MMX, XMM, YMM, ZMM, Hole
from inference.isa.x86.iced_types import CodeValue

SCRATCH = 13
"""The general-purpose register through which constants get to vectors and memory; chains use it, too, but
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


def written_anew(bank: str, family: int, *, legacy: bool) -> Instruction:
    """Writes a register, whatever it holds."""
    if bank == "mmx":  # not every core knows pxor of these for a zero idiom
        return assembled(Code.MOVQ_MM_RM64, (MMX, family), (GPR64, UNWRITTEN))
    return _general(family, 1) if bank == "general" else _zero(family, legacy=legacy)


def _general(family: int, value: int) -> Instruction:
    if value < 1 << 31:
        return Instruction.create_reg_i32(Code.MOV_R32_IMM32, register_of(GPR32, family), value)
    return Instruction.create_reg_u64(Code.MOV_R64_IMM64, register_of(GPR64, family), value)


def with_value(bank: str, width: int, family: int, value: int, *, legacy: bool) -> list[Instruction]:
    """Writes these 64 bits to a register, again and again where it is wider.

    Of masks, only values whose bits are all alike, and not zero, are written: from one that nobody writes.
    """
    if bank == "general":
        return [_general(family, value)]
    if bank == "mask":
        spare = (MASK, SPARE_MASK)
        return [assembled(Code.VEX_KXNORW_KR_KR_KR, (MASK, family), spare, spare)]
    if not value:
        return [_zero(family, legacy=legacy)]
    whole, low = _general(SCRATCH, value), (XMM, family)
    if legacy:
        moved = assembled(Code.MOVQ_XMM_RM64, low, (GPR64, SCRATCH))
        return [whole, moved, assembled(Code.PUNPCKLQDQ_XMM_XMMM128, low, low)]
    moved = assembled(Code.VEX_VMOVQ_XMM_RM64, low, (GPR64, SCRATCH))
    hole, code = _WIDE.get(width, (XMM, Code.VEX_VPBROADCASTQ_XMM_XMMM64))
    return [whole, moved, assembled(code, (hole, family), low)]


def _zero(family: int, *, legacy: bool) -> Instruction:
    one = (XMM, family)
    if legacy:
        return assembled(Code.XORPS_XMM_XMMM128, one, one)
    return assembled(Code.VEX_VXORPS_XMM_XMM_XMMM128, one, one, one)


SPARE_MASK = 7
"""A mask register that chains leave alone."""


def stored_anew(width: int, base: int, spare: int) -> Instruction:
    """Writes memory, whatever it holds: a constant, or the vector register `spare`, which nobody writes.

    Raises `KeyError` for a width of which there is no store.
    """
    address = MemoryOperand(register_of(GPR64, base))
    if width in _CONSTANT_STORES:
        return Instruction.create_mem_i32(_CONSTANT_STORES[width], address, 1)
    store, _, hole, _ = VECTOR_MOVES[width]
    return Instruction.create_mem_reg(store, address, register_of(hole, spare))


def stored_value(width: int, base: int, value: int, spare: int, *, legacy: bool) -> list[Instruction]:
    """Writes a value to memory, again and again where that is wider than 64 bits: by way of the vector
    register `spare` then. Raises `KeyError` for a width that no instruction stores."""
    address = MemoryOperand(register_of(GPR64, base))
    if width in _STORES:
        code, hole = _STORES[width]
        whole = _general(SCRATCH, value)
        return [whole, Instruction.create_mem_reg(code, address, register_of(hole, SCRATCH))]
    store, _, hole, _ = (LEGACY_MOVES if legacy else VECTOR_MOVES)[width]
    made = with_value("vector", width, spare, value, legacy=legacy)
    return [*made, Instruction.create_mem_reg(store, address, register_of(hole, spare))]
