"""Connectors: instructions that return from a destination to the source, and their links.

An AND with zero and an OR with a value restore a source that must contain that value.
"""

from __future__ import annotations

from dataclasses import dataclass

from iced_x86 import Code, Instruction

from inference.isa.chains import ChainLink
from inference.isa.x86.holes import GPR8, GPR8_HIGH, GPR16, GPR32, GPR64, MASK, MMX, XMM, YMM, ZMM, Hole
from inference.isa.x86.iced_types import CodeValue, RegisterValue
from inference.isa.x86.link_ends import LinkEnd
from inference.isa.x86.register_choices import aliases

_IDENTITY = 0xE4
"""A shuffle that moves nothing."""

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
AND_SAME = ChainLink("and GPR[64]:RW, GPR[64]:R", "1", "1")
OR_SAME = ChainLink("or GPR[64]:RW, GPR[64]:R", "1", "1")


@dataclass(frozen=True, slots=True)
class VectorConnectors:
    """The AND of a domain, which leads from register to register, and its OR."""

    and_code: CodeValue
    or_code: CodeValue
    and_link: ChainLink
    or_link: ChainLink

    @classmethod
    def of(cls, leads: CodeValue, ors: CodeValue, name: str, lead: str, restored: str) -> VectorConnectors:
        """The connectors for registers called `name`, from the second operand to the first one."""
        links = (ChainLink(f"{verb} {name}:W, {name}:R, {name}:R", "2", "1") for verb in (lead, restored))
        return cls(leads, ors, *links)


VECTORS = {
    XMM.width: (
        VectorConnectors.of(
            Code.VEX_VPAND_XMM_XMM_XMMM128, Code.VEX_VPOR_XMM_XMM_XMMM128, XMM.name, "vpand", "vpor"
        ),
        VectorConnectors.of(
            Code.VEX_VANDPD_XMM_XMM_XMMM128, Code.VEX_VORPD_XMM_XMM_XMMM128, XMM.name, "vandpd", "vorpd"
        ),
    ),
    YMM.width: (
        VectorConnectors.of(
            Code.VEX_VPAND_YMM_YMM_YMMM256, Code.VEX_VPOR_YMM_YMM_YMMM256, YMM.name, "vpand", "vpor"
        ),
        VectorConnectors.of(
            Code.VEX_VANDPD_YMM_YMM_YMMM256, Code.VEX_VORPD_YMM_YMM_YMMM256, YMM.name, "vandpd", "vorpd"
        ),
    ),
    ZMM.width: (
        VectorConnectors.of(
            Code.EVEX_VPANDD_ZMM_K1Z_ZMM_ZMMM512B32,
            Code.EVEX_VPORD_ZMM_K1Z_ZMM_ZMMM512B32,
            ZMM.name,
            "vpandd",
            "vpord",
        ),
        VectorConnectors.of(
            Code.EVEX_VANDPD_ZMM_K1Z_ZMM_ZMMM512B64,
            Code.EVEX_VORPD_ZMM_K1Z_ZMM_ZMMM512B64,
            ZMM.name,
            "vandpd",
            "vorpd",
        ),
    ),
}
"""By width in bits, the integer domain first."""

LEGACY_SHUFFLE = ChainLink("pshufd XMM:W, XMM:R, IMM[8]:R", "2", "1")
LEGACY_AND = ChainLink("andps XMM:RW, XMM:R", "1", "1")
LEGACY_OR = ChainLink("orps XMM:RW, XMM:R", "1", "1")
MMX_SHUFFLE = ChainLink("pshufw MM:W, MM:R, IMM[8]:R", "2", "1")
FROM_MMX, TO_MMX = ChainLink("movq GPR[64]:W, MM:R", "2", "1"), ChainLink("movq MM:W, GPR[64]:R", "2", "1")
MASKS = (ChainLink("kandw K:W, K:R, K:R", "2", "1"), ChainLink("kshiftrw K:W, K:R, IMM[8]:R", "2", "1"))
MASK_OR = ChainLink("korw K:W, K:R, K:R", "2", "1")
FROM_MASK = ChainLink("kmovw GPR[32]:W, K:R", "2", "1")
TO_MASK = ChainLink("kmovw K:W, GPR[32]:R", "2", "1")
VECTOR_TO_MASK = ChainLink("vptestmd K:W, XMM:R, XMM:R", "2", "1")
MASK_TO_VECTOR = ChainLink("vpmovm2d XMM:W, K:R", "2", "1")
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
"""By flag: the instruction that copies it to a register."""

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
    512: (Code.EVEX_VMOVDQU32_ZMMM512_K1Z_ZMM, Code.EVEX_VMOVDQU32_ZMM_K1Z_ZMMM512, ZMM, "vmovdqu32"),
}
LEGACY_MOVES = {
    32: (Code.MOVD_RM32_XMM, Code.MOVD_XMM_RM32, XMM, "movd"),
    64: (Code.MOVQ_XMMM64_XMM, Code.MOVQ_XMM_XMMM64, XMM, "movq"),
    128: (Code.MOVUPS_XMMM128_XMM, Code.MOVUPS_XMM_XMMM128, XMM, "movups"),
}


def connectors() -> tuple[ChainLink, ...]:
    """The links that close chains within a class: their own latencies are measured first.

    A processor that lacks one of them does not need it.
    """
    general = (link for _, link in EXTEND.values())
    vectors = [connector for width in VECTORS.values() for connector in width]
    return (
        *(*general, _HIGH, XOR_SAME, XOR_SOURCE, AND_SAME, OR_SAME),
        *(connector.and_link for connector in vectors),
        *(connector.or_link for connector in vectors),
        *(LEGACY_SHUFFLE, LEGACY_AND, LEGACY_OR, MMX_SHUFFLE, *MASKS, MASK_OR),
    )


def sign_extension(to: int, of: int, end: LinkEnd) -> tuple[Instruction, ChainLink]:
    """A sign extension from a destination to a full register."""
    if end.operand.name == GPR8_HIGH.name or end.operand.name in _HIGH_NAMES:
        registers = register_of(GPR32, to), aliases(GPR8_HIGH.name)[of]
        return Instruction.create_reg_reg(Code.MOVSX_R32_RM8, *registers), _HIGH
    width = min(end.width, 32)
    code, link = EXTEND[width]
    return assemble(code, (GPR64, to), (_HOLES[width], of)), link


def shuffle(to: int, of: int) -> Instruction:
    registers = register_of(XMM, to), register_of(XMM, of)
    return Instruction.create_reg_reg_i32(Code.PSHUFD_XMM_XMMM128_IMM8, *registers, _IDENTITY)


def mmx_shuffle(to: int, of: int) -> Instruction:
    registers = register_of(MMX, to), register_of(MMX, of)
    return Instruction.create_reg_reg_i32(Code.PSHUFW_MM_MMM64_IMM8, *registers, _IDENTITY)


def mask_shift(to: int, of: int) -> Instruction:
    """The second one of `MASKS`, by no bit."""
    registers = register_of(MASK, to), register_of(MASK, of)
    return Instruction.create_reg_reg_i32(Code.VEX_KSHIFTRW_KR_KR_IMM8, *registers, 0)


def assemble(code: CodeValue, *operands: tuple[Hole, int]) -> Instruction:
    """An instruction with registers, each as the kind of operand and the family."""
    instruction = Instruction()
    instruction.code = code
    for position, (hole, family) in enumerate(operands):
        instruction.set_op_register(position, register_of(hole, family))
    return instruction


def register_of(hole: Hole, family: int) -> RegisterValue:
    return aliases(hole.name)[family]
