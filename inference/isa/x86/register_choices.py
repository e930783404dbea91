"""Registers that can be chosen for an operand, and registers that a scheme uses in any case.

Registers that alias (rax, eax, ax, ah, al) are one *family*, numbered as in hardware; a *bank* is a set of
interchangeable families.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from iced_x86 import Register, RegisterExt

from inference.isa.scheme import Operand
from inference.isa.x86.holes import (
    GPR8_HIGH,
    GPR16,
    GPR32,
    GPR64,
    MASK,
    MASK_PAIR,
    MMX,
    X87,
    XMM,
    YMM,
    ZMM,
)
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names

Role = Literal["R", "W", "RW"]
Bank = Literal["general", "vector", "mask", "mmx", "x87"]
Part = Literal["register", "base", "index", "mask", "breaker"]

BANKS: tuple[Bank, ...] = ("general", "vector", "mask", "mmx", "x87")
RAX, RCX, RSP, RBP, RSI, R13, R14, R15 = 0, 1, 4, 5, 6, 13, 14, 15  # numbers in machine code
RESERVED: dict[Bank, frozenset[int]] = {
    "general": frozenset({RSP, R14, R15}),
    "vector": frozenset(),
    "mask": frozenset({0}),
    "mmx": frozenset(),
    "x87": frozenset({0}),
}
"""Stack, memory and iterations: no instruction of a loop body names these as an operand. k0 cannot be a mask,
and st0 is an operand of nearly every x87 instruction."""

LINE = 64
"""Bytes of a cache line."""

LEGACY_VECTORS = 16
"""Number of vector registers that encodings other than EVEX can name."""

_FIRST = {
    GPR16.name: ("ax", 16),
    GPR32.name: ("eax", 16),
    GPR64.name: ("rax", 16),
    XMM.name: ("xmm0", 32),
    YMM.name: ("ymm0", 32),
    ZMM.name: ("zmm0", 32),
    MASK.name: ("k0", 8),
    MMX.name: ("mm0", 8),
    X87.name: ("st0", 8),
}
_BANKS: dict[str, Bank] = {
    XMM.name: "vector",
    YMM.name: "vector",
    ZMM.name: "vector",
    MASK.name: "mask",
    MASK_PAIR.name: "mask",
    MMX.name: "mmx",
    X87.name: "x87",
}


@dataclass(frozen=True, slots=True, eq=False)
class RegisterChoice:
    """An operand, or a part of one, whose register can be chosen.

    `registers` maps the possible families to iced's registers; `position` is that of the operand and `hole`
    its name in the text.
    """

    bank: Bank
    role: Role
    part: Part
    position: int
    registers: dict[int, RegisterValue]
    hole: str = ""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A register that the scheme always uses, explicitly or implicitly."""

    bank: Bank
    family: int
    role: Role

    @classmethod
    def of(cls, operand: Operand) -> Fixed:
        """The register of an operand without a choice."""
        bank, family = family_of(_numbers()[operand.registers[0]])
        return cls(bank, family, operand.access or "R")


def family_of(register: RegisterValue) -> tuple[Bank, int]:
    """Bank and family of a general-purpose, vector, mask, MMX or x87 register."""
    if RegisterExt.is_vector_register(register):
        return "vector", RegisterExt.full_register(register) - Register.ZMM0
    if RegisterExt.is_mm(register):
        return "mmx", register - Register.MM0
    if RegisterExt.is_st(register):
        return "x87", register - Register.ST0
    if RegisterExt.is_k(register):
        return "mask", register - Register.K0
    return "general", RegisterExt.full_register(register) - Register.RAX


def bank_of(hole: str) -> Bank:
    return _BANKS.get(hole, "general")


def aliases(hole: str, *, choosable: bool = False) -> dict[int, RegisterValue]:
    """{family: its register in the hole's class}; `choosable`: without reserved ones."""
    registers = _aliases(hole)
    reserved = RESERVED[bank_of(hole)] if choosable else frozenset()
    return {family: register for family, register in registers.items() if family not in reserved}


@cache
def _numbers() -> dict[str, RegisterValue]:
    return {name: cast(RegisterValue, number) for number, name in register_names().items()}


@cache
def _aliases(hole: str) -> dict[int, RegisterValue]:
    if hole == MASK_PAIR.name:  # the first of two
        return {family: _numbers()[f"k{family}"] for family in (2, 4, 6)}
    if hole in _FIRST:
        first, count = _FIRST[hole]
        return {family: cast(RegisterValue, _numbers()[first] + family) for family in range(count)}
    if hole == GPR8_HIGH.name:
        names = ["ah", "ch", "dh", "bh"]
    else:
        names = ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", *(f"r{n}l" for n in range(8, 16))]
    return {family: _numbers()[name] for family, name in enumerate(names)}
