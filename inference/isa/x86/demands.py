"""What a scheme demands of registers and memory, as the allocation sees it (thesis §3.2.1).

Registers that alias (rax, eax, ax, ah, al) count as one *family*, numbered as the hardware does; a *bank* is
a set of families that can stand in for each other. Every operand has a role, R, W or RW, which is its access
with one exception: a mere write that leaves a part of the register as it was, or that the hardware treats as
if it did, is RW. Copies of such an instruction that share a register wait for each other like those of any
other RW operand, so they need as many registers as there are. These are

- writes of 8 or 16 bits of a general-purpose register,
- `popcnt`, `lzcnt` and `tzcnt`, which wait for their old result on Intel's cores before Ice Lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from iced_x86 import OpCodeInfo, Register, RegisterExt

from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.exclusion import prevents_measuring, reasons
from inference.isa.x86.forms import Form, features
from inference.isa.x86.holes import (
    ADDRESS_SHAPES,
    GPR8,
    GPR8_HIGH,
    GPR8_HIGH_CODE,
    GPR8_LOW_CODE,
    GPR16,
    GPR32,
    GPR64,
    XMM,
    YMM,
    Hole,
)
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import register_names

Role = Literal["R", "W", "RW"]
Bank = Literal["general", "vector"]
Part = Literal["register", "base", "index"]

RSP, RBP, RSI, R13, R14, R15 = 4, 5, 6, 13, 14, 15
RESERVED: dict[Bank, frozenset[int]] = {"general": frozenset({RSP, R14, R15}), "vector": frozenset()}
"""Stack, memory and iterations: no instruction of a loop body names these as an operand."""

_FAMILIES = frozenset(range(16))
_WITHOUT_REX: dict[str, frozenset[int]] = {
    GPR8.name: frozenset(range(4)),
    GPR8_HIGH.name: frozenset(range(4)),
    **dict.fromkeys((GPR32.name, GPR16.name), frozenset(range(8))),
}
_HALVES = {
    GPR8_HIGH.name: frozenset(range(4)),
    GPR8_LOW_CODE.name: frozenset({0, 1, 2, 3, 8, 9, 10, 11}),
    GPR8_HIGH_CODE.name: frozenset({5, 6, 7, 12, 13}),
}
_FALSELY_DEPENDENT = frozenset({"popcnt", "lzcnt", "tzcnt"})
_BASES = _FAMILIES - {RBP, R13}  # as a base these two always come with a displacement
_INDICES = _FAMILIES - {RSP}


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An operand, or a part of an address, for which a register may be chosen.

    `registers` maps the families that fit to iced's registers; `position` is that of the operand.
    """

    bank: Bank
    role: Role
    part: Part
    position: int
    registers: dict[int, RegisterValue]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A register that the scheme uses whatever is chosen elsewhere, be it in its text or implicitly."""

    bank: Bank
    family: int
    role: Role


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """All choices of a scheme, its fixed registers, and the role of its memory operand, if it has one.

    `low_base`: memory is addressed through rsi, because ah, bh, ch and dh cannot be named together with r14.
    """

    choices: tuple[Choice, ...]
    fixed: tuple[Fixed, ...]
    memory: Role | None
    low_base: bool


def obstacle(scheme: Scheme, form: Form) -> str:
    """Why the scheme cannot be measured, in the words of its exclusion; empty where it can."""
    found = reasons(form, OpCodeInfo(form.code), scheme.category, features(form.code), scheme.operands)
    return next(filter(prevents_measuring, found), "")


def demands(scheme: Scheme, form: Form) -> Demands:
    """The demands of a scheme without `obstacle`."""
    high = any(hole.name == GPR8_HIGH.name for hole in form.holes)
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    choices: list[Choice] = []
    memory: Role | None = None
    for position, (hole, operand) in enumerate(zip(form.holes, explicit, strict=True)):
        if hole.kind == "register" and not hole.fixed:
            choices.append(_register(scheme, position, hole, operand, high=high))
        elif hole.kind == "address":
            choices.extend(_address(position, hole))
        elif hole.kind == "memory":
            memory = operand.access or "R"
    fixed = tuple(_fixed(operand) for operand in scheme.operands if _is_fixed_register(operand))
    return Demands(tuple(choices), fixed, memory, low_base=high and memory is not None)


def _register(scheme: Scheme, position: int, hole: Hole, operand: Operand, *, high: bool) -> Choice:
    fitting = _HALVES.get(hole.name, _FAMILIES)
    if high:
        fitting &= _WITHOUT_REX[hole.name]
    bank: Bank = "vector" if hole in {XMM, YMM} else "general"
    aliases = _aliases(hole.name)
    chosen = {family: aliases[family] for family in sorted(fitting - RESERVED[bank])}
    return Choice(bank, _role(scheme, operand, bank), "register", position, chosen)


def _role(scheme: Scheme, operand: Operand, bank: Bank) -> Role:
    partial = bank == "general" and operand.width < GPR32.width
    if operand.access == "W" and (partial or scheme.mnemonic in _FALSELY_DEPENDENT):
        return "RW"
    return operand.access or "R"


def _address(position: int, hole: Hole) -> Iterator[Choice]:
    shape = ADDRESS_SHAPES[hole.shape]
    aliases = _aliases(GPR64.name)
    parts: Sequence[tuple[Part, RegisterValue, frozenset[int]]] = (
        ("base", shape.base, _BASES),
        ("index", shape.index, _INDICES),
    )
    for part, register, families in parts:
        if RegisterExt.is_gpr(register):
            fitting = sorted(families - RESERVED["general"])
            yield Choice("general", "R", part, position, {family: aliases[family] for family in fitting})


def _is_fixed_register(operand: Operand) -> bool:
    return operand.kind == "register" and bool(operand.registers)


def _fixed(operand: Operand) -> Fixed:
    bank, family = family_of(_numbers()[operand.registers[0]])
    return Fixed(bank, family, operand.access or "R")


def family_of(register: RegisterValue) -> tuple[Bank, int]:
    """Bank and family of a general-purpose or vector register."""
    if RegisterExt.is_vector_register(register):
        return "vector", RegisterExt.full_register(register) - Register.ZMM0
    return "general", RegisterExt.full_register(register) - Register.RAX


@cache
def _numbers() -> dict[str, RegisterValue]:
    return {name: cast(RegisterValue, number) for number, name in register_names().items()}


@cache
def _aliases(hole: str) -> dict[int, RegisterValue]:
    """{family: its register of the class that the hole stands for}."""
    if hole == GPR8_HIGH.name:
        names = ["ah", "ch", "dh", "bh"]
    elif hole.startswith("GPR[8"):
        names = ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", *(f"r{n}l" for n in range(8, 16))]
    else:
        first = {GPR16.name: "ax", GPR32.name: "eax", GPR64.name: "rax", XMM.name: "xmm0", YMM.name: "ymm0"}
        start = _numbers()[first[hole]]
        return {family: cast(RegisterValue, start + family) for family in range(16)}
    return {family: _numbers()[name] for family, name in enumerate(names)}
