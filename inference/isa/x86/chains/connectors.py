"""Connectors: the instructions that lead a chain from a destination back to the source, and their links."""

from __future__ import annotations

from iced_x86 import Code, Instruction, MemoryOperand

from inference.isa.chains import ChainLink
from inference.isa.x86.chains.operands import Place
from inference.isa.x86.choosing import aliases
from inference.isa.x86.holes import GPR8, GPR8_HIGH, GPR16, GPR32, GPR64, XMM, YMM, Hole
from inference.isa.x86.iced_types import CodeValue, RegisterValue

_IDENTITY = 0xE4
"""A shuffle that leaves everything where it is."""
_HIGH_NAMES = frozenset({"ah", "bh", "ch", "dh"})
EXTEND: dict[int, tuple[CodeValue, ChainLink]] = {
    8: (Code.MOVSX_R64_RM8, ChainLink("movsx GPR[64]:W, GPR[8]:R", "2", "1")),
    16: (Code.MOVSX_R64_RM16, ChainLink("movsx GPR[64]:W, GPR[16]:R", "2", "1")),
    32: (Code.MOVSXD_R64_RM32, ChainLink("movsxd GPR[64]:W, GPR[32]:R", "2", "1")),
}
_HOLES = {8: GPR8, 16: GPR16, 32: GPR32}
_HIGH = ChainLink("movsx GPR[32]:W, GPR[8h]:R", "2", "1")
XOR_SOURCE = ChainLink("xor GPR[64]:RW, GPR[64]:R", "2", "1")
XOR_SAME = ChainLink("xor GPR[64]:RW, GPR[64]:R", "1", "1")
VECTORS = (
    (Code.VEX_VPAND_XMM_XMM_XMMM128, "vpand XMM:W, XMM:R, XMM:R"),
    (Code.VEX_VANDPD_XMM_XMM_XMMM128, "vandpd XMM:W, XMM:R, XMM:R"),
)
WIDE_VECTORS = (
    (Code.VEX_VPAND_YMM_YMM_YMMM256, "vpand YMM:W, YMM:R, YMM:R"),
    (Code.VEX_VANDPD_YMM_YMM_YMMM256, "vandpd YMM:W, YMM:R, YMM:R"),
)
LEGACY_VECTORS = ((Code.PSHUFD_XMM_XMMM128_IMM8, "pshufd XMM:W, XMM:R, IMM[8]:R"),)
FROM_VECTOR = {
    False: (Code.VEX_VMOVQ_RM64_XMM, "vmovq GPR[64]:W, XMM:R"),
    True: (Code.MOVQ_RM64_XMM, "movq GPR[64]:W, XMM:R"),
}
TO_VECTOR = {
    False: (Code.VEX_VMOVQ_XMM_RM64, "vmovq XMM:W, GPR[64]:R"),
    True: (Code.MOVQ_XMM_RM64, "movq XMM:W, GPR[64]:R"),
}
FLAG_COPIES: dict[str, tuple[CodeValue, str]] = {
    "cf": (Code.SETB_RM8, "setb"),
    "zf": (Code.SETE_RM8, "sete"),
    "sf": (Code.SETS_RM8, "sets"),
    "of": (Code.SETO_RM8, "seto"),
    "pf": (Code.SETP_RM8, "setp"),
}
"""By flag: what copies it to a register."""
LOADS = {
    8: (Code.MOVZX_R32_RM8, GPR32, "movzx GPR[32]:W, MEM[8]:R"),
    16: (Code.MOVZX_R32_RM16, GPR32, "movzx GPR[32]:W, MEM[16]:R"),
    32: (Code.MOV_R32_RM32, GPR32, "mov GPR[32]:W, MEM[32]:R"),
    64: (Code.MOV_R64_RM64, GPR64, "mov GPR[64]:W, MEM[64]:R"),
}
VECTOR_MOVES = {
    32: (Code.VEX_VMOVD_RM32_XMM, Code.VEX_VMOVD_XMM_RM32, XMM, "vmovd"),
    64: (Code.VEX_VMOVQ_XMMM64_XMM, Code.VEX_VMOVQ_XMM_XMMM64, XMM, "vmovq"),
    128: (Code.VEX_VMOVDQU_XMMM128_XMM, Code.VEX_VMOVDQU_XMM_XMMM128, XMM, "vmovdqu"),
    256: (Code.VEX_VMOVDQU_YMMM256_YMM, Code.VEX_VMOVDQU_YMM_YMMM256, YMM, "vmovdqu"),
}


def connectors() -> tuple[ChainLink, ...]:
    """The links that chains are closed with within a class: their own latencies come first."""
    vectors = (text for _, text in (*VECTORS, *WIDE_VECTORS, *LEGACY_VECTORS))
    general = (link for _, link in EXTEND.values())
    return (*general, _HIGH, XOR_SAME, XOR_SOURCE, *(ChainLink(text, "2", "1") for text in vectors))


def sign_extension(to: int, of: int, place: Place) -> tuple[Instruction, ChainLink]:
    """A sign extension from a destination to a whole register."""
    if place.operand.name == GPR8_HIGH.name or place.operand.name in _HIGH_NAMES:
        registers = register_of(GPR32, to), aliases(GPR8_HIGH.name)[of]
        return Instruction.create_reg_reg(Code.MOVSX_R32_RM8, *registers), _HIGH
    width = min(place.width, 32)
    code, link = EXTEND[width]
    return assembled(code, (GPR64, to), (_HOLES[width], of)), link


def vector_step(code: CodeValue, hole: Hole, to: int, of: int, *, legacy: bool) -> Instruction:
    """A connector between vector registers."""
    if legacy:
        registers = register_of(hole, to), register_of(hole, of)
        return Instruction.create_reg_reg_i32(code, *registers, _IDENTITY)
    return assembled(code, (hole, to), (hole, of), (hole, of))


def assembled(code: CodeValue, *operands: tuple[Hole, int]) -> Instruction:
    """An instruction with registers, each as the kind of operand and the family."""
    made = Instruction()
    made.code = code
    for position, (hole, family) in enumerate(operands):
        made.set_op_register(position, register_of(hole, family))
    return made


def register_of(hole: Hole, family: int) -> RegisterValue:
    """The register of a family that an operand of this kind can be."""
    return aliases(hole.name)[family]


# What makes registers and memory ready: it reads nothing.


CONSTANT_STORES = {
    8: Code.MOV_RM8_IMM8,
    16: Code.MOV_RM16_IMM16,
    32: Code.MOV_RM32_IMM32,
    64: Code.MOV_RM64_IMM32,
}
"""By width in bits."""


def without_reading(bank: str, family: int) -> Instruction:
    """Writes a register anew."""
    if bank == "general":
        return Instruction.create_reg_i32(Code.MOV_R32_IMM32, register_of(GPR32, family), 1)
    zero = (XMM, family)
    return assembled(Code.VEX_VXORPS_XMM_XMM_XMMM128, zero, zero, zero)


def stored_anew(width: int, base: int) -> Instruction:
    """Writes memory of one of the widths of `CONSTANT_STORES` anew."""
    address = MemoryOperand(register_of(GPR64, base))
    return Instruction.create_mem_i32(CONSTANT_STORES[width], address, 1)
