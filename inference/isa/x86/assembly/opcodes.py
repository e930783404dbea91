"""The opcodes of a mnemonic and their possible operands, from the tables of iced-x86.

In contrast to the forms of schemes (`inference.isa.x86.forms`) these are all that an assembler accepts, jumps
and privileged instructions included, with only the properties that encoding needs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import cast

from iced_x86 import (
    Code,
    EncodingKind,
    MemorySizeExt,
    OpCodeInfo,
    OpKind,
    Register,
)
from iced_x86 import OpCodeOperandKind as Kind

from inference.isa.x86.forms import MNEMONICS, codes_of, features
from inference.isa.x86.iced_types import CodeValue, KindValue, OpKindValue, RegisterValue
from inference.isa.x86.operand_kinds import (
    FIXED_REGISTERS,
    OR_MEMORY,
    OR_MEMORY_OF_MPX,
    REGISTER_CLASSES,
    VECTOR_INDEX,
)

_VIA_ONLY = ("PADLOCK", "CENTAUR", "CYRIX")
_NOT_OF_64_BITS = frozenset(
    {Kind.BR16_1, Kind.BR16_2, Kind.BR32_1, Kind.BR32_4, Kind.BRDISP_2, Kind.BRDISP_4}
)
_IGNORED = frozenset({Code.RETNW, Code.RETNW_IMM16, Code.CALL_RM16, Code.JMP_RM16, Code.UD0})
"""Near branches whose 66 prefix Intel's processors ignore, and `ud0` without the operand that they read."""

_FAR = frozenset(
    {Code.CALL_M1616, Code.CALL_M1632, Code.CALL_M1664, Code.JMP_M1616, Code.JMP_M1632, Code.JMP_M1664}
)
_ANY_WIDTH_WORDS = """
    lea prefetch prefetchw prefetchwt1 prefetcht0 prefetcht1 prefetcht2 prefetchnta prefetchit0 prefetchit1
    clflush clflushopt clwb cldemote invlpg invept invvpid invpcid lgdt lidt sgdt sidt fxsave fxsave64
    fxrstor fxrstor64 xsave xsave64 xsavec xsavec64 xsaveopt xsaveopt64 xsaves xsaves64 xrstor xrstor64
    xrstors xrstors64 fldenv fnstenv fstenv fnsave fsave frstor ldtilecfg sttilecfg tileloadd tileloaddt1
    tilestored movdir64b enqcmd enqcmds bndldx bndstx bndmov vmclear vmptrld vmptrst vmxon
"""
_ANY_WIDTH = frozenset(_ANY_WIDTH_WORDS.split())
"""Instructions whose memory width differs between programs, or that access none."""

_Class = tuple[RegisterValue, RegisterValue]
_CLASSES: dict[str, _Class] = {
    "R8": (Register.AL, Register.R15L),
    "R16": (Register.AX, Register.R15W),
    "R32": (Register.EAX, Register.R15D),
    "R64": (Register.RAX, Register.R15),
    "MM": (Register.MM0, Register.MM7),
    "XMM": (Register.XMM0, Register.XMM31),
    "YMM": (Register.YMM0, Register.YMM31),
    "ZMM": (Register.ZMM0, Register.ZMM31),
    "K": (Register.K0, Register.K7),
    "TMM": (Register.TMM0, Register.TMM7),
    "BND": (Register.BND0, Register.BND3),
    "SEG": (Register.ES, Register.GS),
    "CR": (Register.CR0, Register.CR15),
    "DR": (Register.DR0, Register.DR15),
    "STI": (Register.ST0, Register.ST7),
}
"""{iced's name of a class of registers, without the number in a row: the first and the last register}."""

_GENERAL = {width: _CLASSES[f"R{width}"] for width in (8, 16, 32, 64)}

_STRINGS: dict[int, tuple[RegisterValue, OpKindValue]] = {
    Kind.SEG_RSI: (Register.RSI, OpKind.MEMORY_SEG_RSI),
    Kind.SEG_RDI: (Register.RDI, OpKind.MEMORY_SEG_RDI),
    Kind.ES_RDI: (Register.RDI, OpKind.MEMORY_ESRDI),
    Kind.SEG_RBX_AL: (Register.RBX, OpKind.MEMORY),
}
_IMMEDIATES: dict[int, tuple[OpKindValue, int, int]] = {
    Kind.IMM4_M2Z: (OpKind.IMMEDIATE8, 4, 0),
    Kind.IMM8: (OpKind.IMMEDIATE8, 8, 0),
    Kind.IMM8_CONST_1: (OpKind.IMMEDIATE8, 8, 0),
    Kind.IMM16: (OpKind.IMMEDIATE16, 16, 0),
    Kind.IMM32: (OpKind.IMMEDIATE32, 32, 0),
    Kind.IMM8SEX16: (OpKind.IMMEDIATE8TO16, 8, 16),
    Kind.IMM8SEX32: (OpKind.IMMEDIATE8TO32, 8, 32),
    Kind.IMM8SEX64: (OpKind.IMMEDIATE8TO64, 8, 64),
    Kind.IMM32SEX64: (OpKind.IMMEDIATE32TO64, 32, 64),
    Kind.IMM64: (OpKind.IMMEDIATE64, 64, 64),
}
_IN_A_ROW = re.compile(r"P\d$")
_BRANCHES: dict[int, int] = {Kind.BR64_1: 8, Kind.BR64_4: 32, Kind.XBEGIN_2: 16, Kind.XBEGIN_4: 32}


@dataclass(frozen=True, slots=True)
class OpcodeOperand:
    """Possible contents of an opcode's operand; empty fields are impossible ones.

    Attributes:
        registers: First and last by iced's numbers.
        memory: Freely addressed, with `index` its class of vector registers.
        string: Memory at a fixed register.
        immediate: iced's kind of operand, bits in the code, bits that it is extended to (0: not extended).
        branch: Bits of a distance.
        is_fixed: There is only one choice, which may be omitted.
    """

    registers: _Class | None = None
    memory: bool = False
    index: _Class | None = None
    absolute: bool = False
    string: tuple[RegisterValue, OpKindValue] | None = None
    immediate: tuple[OpKindValue, int, int] | None = None
    only_value: int | None = None
    branch: int = 0
    is_fixed: bool = False
    is_modrm: bool = False

    @property
    def may_be_unwritten(self) -> bool:
        """Whether programs omit it where they show other fixed operands: a shift by 1, st(0)."""
        return self.only_value is not None or self.registers == (Register.ST0, Register.ST0)

    @property
    def width(self) -> int:
        """Bits of its general-purpose register, 0 without."""
        for width, (first, last) in _GENERAL.items():
            if self.registers and first <= self.registers[0] and self.registers[1] <= last:
                return width
        return 0


@dataclass(frozen=True, slots=True)
class Opcode:
    """One of iced's opcodes.

    Attributes:
        orders: Positions of the operands that may be written, all of them first.
        memory_width: Bits, as `element_width` (of a broadcast).
        any_width: The written width of its memory is ignored.
        needs_no_prefix: No prefix states the width of its operation, where no operand does.
    """

    code: CodeValue
    mnemonic: str
    places: tuple[OpcodeOperand, ...]
    orders: tuple[tuple[int, ...], ...]
    order: int
    is_evex: bool
    memory_width: int
    element_width: int
    operand_size: int
    any_width: bool
    needs_no_prefix: bool
    is_far: bool
    is_absolute: bool

    @property
    def is_length_changing(self) -> bool:
        """Whether a 66 prefix halves its immediate, which some processors decode slowly."""
        return any(place.immediate is not None and place.immediate[1] == 16 for place in self.places)

    @property
    def is_long(self) -> bool:
        """Whether it has an immediate or an address of eight bytes."""
        return self.is_absolute or any(
            place.immediate is not None and place.immediate[1] == 64 for place in self.places
        )

    @property
    def widths(self) -> frozenset[int]:
        """Possible meanings of the size suffix in AT&T's mnemonic."""
        bits = {place.width for place in self.places} | ({self.memory_width} if self.memory_width else set())
        return frozenset(bits - {0}) or frozenset({self.operand_size})


@cache
def opcodes_of(mnemonic: str) -> tuple[Opcode, ...]:
    """The opcodes of a mnemonic in iced's order."""
    infos = [info for info in map(OpCodeInfo, codes_of(mnemonic)) if _is_usable(info)]
    texts = [_spelling(info) for info in infos]
    sizes: dict[object, set[int]] = defaultdict(set)
    for info, text in zip(infos, texts, strict=True):
        sizes[text].add(info.operand_size)
    return tuple(_opcode(mnemonic, info, sizes[text]) for info, text in zip(infos, texts, strict=True))


def _representatives() -> dict[RegisterValue, RegisterValue]:
    representatives: dict[RegisterValue, RegisterValue] = {}
    fixed = frozenset(FIXED_REGISTERS.values())
    for first, last in _CLASSES.values():
        alike = [register for register in range(first, last + 1) if register not in fixed]
        representatives |= dict.fromkeys(
            cast(list[RegisterValue], alike), cast(RegisterValue, min(alike, default=first))
        )
    return representatives


REPRESENTATIVES = _representatives()
"""{register: the first of those that no operand distinguishes from it}."""


def _is_usable(info: OpCodeInfo) -> bool:
    usable = (
        info.is_instruction
        and info.mode64
        and info.encoding != EncodingKind.MVEX
        and info.decoder_option == 0
        and not info.is_reserved_nop
        and (info.address_size in {0, 64} or info.code == Code.JECXZ_REL8_64)
    )
    if not usable or info.code in _IGNORED or _NOT_OF_64_BITS.intersection(info.op_kinds()):
        return False
    return not any(feature.startswith(_VIA_ONLY) for feature in features(info.code))


def _spelling(info: OpCodeInfo) -> object:
    """The written form of an opcode's operands: opcodes with equal ones differ only in their operand size."""
    if info.encoding != EncodingKind.LEGACY or not info.operand_size:
        return info.code
    width = 0 if MNEMONICS[info.mnemonic] in _ANY_WIDTH else MemorySizeExt.size(info.memory_size) * 8
    operands = []
    for kind in info.op_kinds():
        place = _operand(kind)
        is_number = place.immediate is not None
        operands.append((place.registers, place.memory and width, place.string, is_number, place.branch))
    return tuple(operands)


def _opcode(mnemonic: str, info: OpCodeInfo, sizes: set[int]) -> Opcode:
    """The properties of an opcode that matter for choosing among those of a mnemonic.

    `sizes`: operand sizes of the opcodes that are written alike; a single one needs no prefix.
    """
    places = tuple(map(_operand, info.op_kinds()))
    needs_no_prefix = len(sizes) == 1 or info.operand_size == (32 if 32 in sizes else 64)
    return Opcode(
        code=info.code,
        mnemonic=mnemonic,
        places=places,
        orders=_written_orders(places),
        order=info.code,
        is_evex=info.encoding == EncodingKind.EVEX,
        memory_width=MemorySizeExt.size(info.memory_size) * 8,
        element_width=MemorySizeExt.size(info.broadcast_memory_size) * 8 if info.can_broadcast else 0,
        operand_size=info.operand_size or 64,
        any_width=mnemonic in _ANY_WIDTH,
        needs_no_prefix=needs_no_prefix,
        is_far=info.code in _FAR,
        is_absolute=any(place.absolute for place in places),
    )


def _written_orders(places: tuple[OpcodeOperand, ...]) -> tuple[tuple[int, ...], ...]:
    positions = tuple(range(len(places)))
    if not any(place.is_fixed for place in places):
        return (positions,)
    strings = any(place.string for place in places)
    implied = [place.is_fixed and (strings or place.may_be_unwritten) for place in places]
    needed = tuple(k for k, is_implied in enumerate(implied) if not is_implied)
    written = tuple(k for k, operand in enumerate(places) if operand.string or not operand.is_fixed)
    return tuple(dict.fromkeys((positions, needed, *((written,) if strings else ()))))


@cache
def _operand(kind: KindValue) -> OpcodeOperand:
    """What an operand of this kind accepts; kinds that are only memory are the default."""
    operand = OpcodeOperand(memory=True, is_modrm=True)  # MEM, MEM_MIB, MEM_MPX, SIBMEM
    either = OR_MEMORY.get(kind) or OR_MEMORY_OF_MPX.get(kind)
    if kind in REGISTER_CLASSES:
        operand = OpcodeOperand(registers=_CLASSES[_IN_A_ROW.sub("", REGISTER_CLASSES[kind])])
    elif either is not None:
        operand = OpcodeOperand(registers=_CLASSES[either], memory=True, is_modrm=True)
    elif kind in FIXED_REGISTERS:
        operand = OpcodeOperand(registers=(FIXED_REGISTERS[kind], FIXED_REGISTERS[kind]), is_fixed=True)
    elif kind in VECTOR_INDEX:
        operand = OpcodeOperand(memory=True, index=_CLASSES[VECTOR_INDEX[kind]])
    elif kind in _STRINGS:
        operand = OpcodeOperand(string=_STRINGS[kind], is_fixed=True)
    elif kind in _IMMEDIATES:
        is_1 = kind == Kind.IMM8_CONST_1
        operand = OpcodeOperand(immediate=_IMMEDIATES[kind], only_value=1 if is_1 else None, is_fixed=is_1)
    elif kind in _BRANCHES:
        operand = OpcodeOperand(branch=_BRANCHES[kind])
    elif kind == Kind.MEM_OFFS:
        operand = OpcodeOperand(memory=True, absolute=True)
    return operand
