"""Holes of x86-64 operands: their names in scheme texts, and fillings for iced.

A hole is filled by *position*, so that the operands of one instruction get distinct registers: `xor rax, rax`
would count as a mere write. The fillings avoid implicit registers (rax, rcx, rdx, rsp) and the base register
of memory operands, and need no REX prefix beside ah to bh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from iced_x86 import OpCodeOperandKind as Kind
from iced_x86 import OpKind, Register, RegisterExt

from inference.isa.scheme import OperandKind
from inference.isa.x86.iced_types import KindValue, OpKindValue, RegisterValue
from inference.isa.x86.operand_kinds import (
    FIXED_NAMES,
    FIXED_REGISTERS,
    OR_MEMORY,
    REGISTER_CLASSES,
    VECTOR_INDEX,
)

MEMORY_BASE = Register.RSI


@dataclass(frozen=True, slots=True)
class Hole:
    """A possible content of one operand.

    Attributes:
        registers: Indexed by operand position for register holes; the one choice for fixed ones.
        value: The immediate to fill in.
        shape: The form of a computed address (see `ADDRESS_SHAPES`).
        fixed: There is only one filling, which the text names.
    """

    name: str
    kind: OperandKind
    op_kind: OpKindValue
    width: int = 0
    registers: tuple[RegisterValue, ...] = ()
    value: int = 0
    shape: str = ""
    vector_index: RegisterValue = Register.NONE
    fixed: bool = False

    def register_at(self, position: int) -> RegisterValue:
        """The iced register where this hole is the operand at `position`."""
        return self.registers[0] if self.fixed else self.registers[position]


@dataclass(frozen=True, slots=True)
class AddressShape:
    """The parts of an address: registers by iced number, displacement and its bytes."""

    base: RegisterValue = Register.NONE
    index: RegisterValue = Register.NONE
    scale: int = 1
    displacement: int = 0
    displacement_size: int = 0


ADDRESS_SHAPES = {
    "": AddressShape(base=MEMORY_BASE, displacement=0x1234, displacement_size=8),
    "B": AddressShape(base=MEMORY_BASE),
    "B+D8": AddressShape(base=MEMORY_BASE, displacement=0x12, displacement_size=1),
    "B+I": AddressShape(base=MEMORY_BASE, index=Register.RDI),
    "B+I+D8": AddressShape(base=MEMORY_BASE, index=Register.RDI, displacement=0x12, displacement_size=1),
    "B+S*I": AddressShape(base=MEMORY_BASE, index=Register.RDI, scale=2),
    "B+S*I+D8": AddressShape(
        base=MEMORY_BASE, index=Register.RDI, scale=2, displacement=0x12, displacement_size=1
    ),
    "S*I": AddressShape(index=Register.RDI, scale=2, displacement_size=8),
    "S*I+D": AddressShape(index=Register.RDI, scale=2, displacement=0x12, displacement_size=8),
    "D": AddressShape(displacement=0x1234, displacement_size=8),
    "RIP+D": AddressShape(base=Register.RIP, displacement=0x1234, displacement_size=8),
}
"""Forms of a computed address: B base, I index, S scale of 2, 4 or 8, D displacement; "" is B + 32 bits."""


def _pool(first: RegisterValue, numbers: Sequence[int]) -> tuple[RegisterValue, ...]:
    return tuple(cast(RegisterValue, first + number) for number in numbers)


_GPR_NUMBERS = (3, 5, 7, 8, 9)  # rbx, rbp, rdi, r8, r9
_POSITIONS = (1, 2, 3, 4, 5)  # numbers of the registers that stand for any


def _class(name: str, width: int, first: RegisterValue, numbers: Sequence[int] = _POSITIONS) -> Hole:
    return Hole(name, "register", OpKind.REGISTER, width, _pool(first, numbers))


GPR8 = Hole("GPR[8]", "register", OpKind.REGISTER, 8, (Register.BL, Register.DL, Register.CL))
GPR8_HIGH = Hole("GPR[8h]", "register", OpKind.REGISTER, 8, (Register.BH, Register.DH, Register.CH))
GPR8_LOW_CODE = Hole("GPR[8a]", "register", OpKind.REGISTER, 8, (Register.BL,))
GPR8_HIGH_CODE = Hole("GPR[8b]", "register", OpKind.REGISTER, 8, (Register.BPL,))
GPR16 = _class("GPR[16]", 16, Register.AX, _GPR_NUMBERS)
GPR32 = _class("GPR[32]", 32, Register.EAX, _GPR_NUMBERS)
GPR64 = _class("GPR[64]", 64, Register.RAX, _GPR_NUMBERS)
MMX = _class("MM", 64, Register.MM0)
XMM = _class("XMM", 128, Register.XMM0)
YMM = _class("YMM", 256, Register.YMM0)
ZMM = _class("ZMM", 512, Register.ZMM0)
XMM_BLOCK = _class("XMMx4", 128, Register.XMM0, (0, 4, 8, 12, 16))  # four registers in a row
ZMM_BLOCK = _class("ZMMx4", 512, Register.ZMM0, (0, 4, 8, 12, 16))
MASK = _class("K", 64, Register.K0, (2, 3, 4, 5, 6))
MASK_PAIR = _class("Kx2", 64, Register.K0, (2, 4, 6))
TILE = _class("TMM", 8192, Register.TMM0)
X87 = _class("ST", 80, Register.ST0)
SEGMENT = _class("SEG", 16, Register.ES, (4, 4))  # fs: loading it in user mode is harmless
CONTROL = _class("CR", 64, Register.CR0, (0, 0))
DEBUG = _class("DR", 64, Register.DR0, (0, 0))


_FIXED_REGISTERS = {
    kind: Hole(
        FIXED_NAMES[kind],
        "register",
        OpKind.REGISTER,
        8 * RegisterExt.size(register),
        (register,),
        fixed=True,
    )
    for kind, register in FIXED_REGISTERS.items()
}

_CLASSES = {
    "R16": GPR16,
    "R32": GPR32,
    "R64": GPR64,
    "MM": MMX,
    "XMM": XMM,
    "YMM": YMM,
    "ZMM": ZMM,
    "XMMP3": XMM_BLOCK,
    "ZMMP3": ZMM_BLOCK,
    "K": MASK,
    "KP1": MASK_PAIR,
    "TMM": TILE,
    "STI": X87,
    "SEG": SEGMENT,
    "CR": CONTROL,
    "DR": DEBUG,
}
"""{iced's name of a class of registers: the hole}."""


def _immediate(width: int, op_kind: OpKindValue, value: int) -> Hole:
    return Hole(f"IMM[{width}]", "immediate", op_kind, width, value=value)


# The values do not fit a shorter encoding, so that an assembler would choose the same one. A byte rotated
# through the carry by 9 or 18 is what it was; 0x13 is neither.
_IMMEDIATES = {
    Kind.IMM4_M2Z: Hole("IMM[4]", "immediate", OpKind.IMMEDIATE8, 4, value=0x3),
    Kind.IMM8: _immediate(8, OpKind.IMMEDIATE8, 0x13),
    Kind.IMM8SEX16: _immediate(8, OpKind.IMMEDIATE8TO16, 0x13),
    Kind.IMM8SEX32: _immediate(8, OpKind.IMMEDIATE8TO32, 0x13),
    Kind.IMM8SEX64: _immediate(8, OpKind.IMMEDIATE8TO64, 0x13),
    Kind.IMM16: _immediate(16, OpKind.IMMEDIATE16, 0x1234),
    Kind.IMM32: _immediate(32, OpKind.IMMEDIATE32, 0x12345678),
    Kind.IMM32SEX64: _immediate(32, OpKind.IMMEDIATE32TO64, 0x12345678),
    Kind.IMM64: _immediate(64, OpKind.IMMEDIATE64, 0x123456789ABCDEF0),
    Kind.IMM8_CONST_1: Hole("0x1", "immediate", OpKind.IMMEDIATE8, 8, value=1, fixed=True),
    Kind.BR64_1: Hole("REL[8]", "branch", OpKind.NEAR_BRANCH64, 8, value=0x20),
    Kind.BR64_4: Hole("REL[32]", "branch", OpKind.NEAR_BRANCH64, 32, value=0x2000),
    Kind.XBEGIN_2: Hole("REL[16]", "branch", OpKind.NEAR_BRANCH64, 16, value=0x200),
    Kind.XBEGIN_4: Hole("REL[32]", "branch", OpKind.NEAR_BRANCH64, 32, value=0x2000),
}

_INDEXES = {"XMM": Register.XMM7, "YMM": Register.YMM7, "ZMM": Register.ZMM7}

_FIXED_ADDRESSES = {
    Kind.SEG_RSI: ("rsi", OpKind.MEMORY_SEG_RSI),
    Kind.SEG_RDI: ("rdi", OpKind.MEMORY_SEG_RDI),
    Kind.ES_RDI: ("rdi", OpKind.MEMORY_ESRDI),
}

_PLAIN_MEMORY = frozenset({Kind.MEM, Kind.MEM_MIB, Kind.SIBMEM})


def memory(width: int) -> Hole:
    """`MEM[width]`: memory at base register + displacement."""
    return Hole(f"MEM[{width}]", "memory", OpKind.MEMORY, width)


def address(shape: str) -> Hole:
    """`ADDR` or `ADDR[shape]`: an address that is computed but not accessed."""
    return Hole(f"ADDR[{shape}]" if shape else "ADDR", "address", OpKind.MEMORY, 64, shape=shape)


def literal(hole: Hole, value: int) -> Hole:
    """The immediate hole with its value fixed, which replaces `IMM[n]` in the text."""
    return Hole(f"0x{value:x}", "immediate", hole.op_kind, hole.width, value=value, fixed=True)


def _memory_hole(kind: KindValue, width: int) -> Hole | None:
    if kind in _PLAIN_MEMORY:
        return memory(width)
    if name := VECTOR_INDEX.get(kind):
        return Hole(f"MEM[{width},{name}]", "memory", OpKind.MEMORY, width, vector_index=_INDEXES[name])
    if kind in _FIXED_ADDRESSES:
        name, op_kind = _FIXED_ADDRESSES[kind]
        return Hole(f"MEM[{width},{name}]", "memory", op_kind, width, shape=name)
    if kind == Kind.SEG_RBX_AL:
        return Hole(f"MEM[{width},rbx+al]", "memory", OpKind.MEMORY, width, shape="rbx+al")
    if kind == Kind.MEM_OFFS:
        return Hole(f"MOFFS[{width}]", "memory", OpKind.MEMORY, width, shape="moffs")
    return None


def choices(kind: KindValue, memory_width: int) -> tuple[Hole, ...]:
    """The holes of an operand of iced's `OpCodeOperandKind`.

    `memory_width`: bits that the instruction's memory form accesses. Raises `KeyError` for a kind that does
    not occur in 64-bit mode.
    """
    if kind == Kind.R8_OR_MEM:
        return GPR8, GPR8_HIGH, memory(memory_width)
    if kind in {Kind.R8_REG, Kind.R8_OPCODE}:
        return GPR8, GPR8_HIGH
    if kind in OR_MEMORY:
        return _CLASSES[OR_MEMORY[kind]], memory(memory_width)
    if in_memory := _memory_hole(kind, memory_width):
        return (in_memory,)
    if kind in REGISTER_CLASSES:
        return (_CLASSES[REGISTER_CLASSES[kind]],)
    return ({**_FIXED_REGISTERS, **_IMMEDIATES}[kind],)
