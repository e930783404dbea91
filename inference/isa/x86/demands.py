"""Registers and memory that a scheme needs, for the allocation (thesis §3.2.1).

Every operand has a role, R, W or RW, which is its access with one exception: a mere write that preserves a
part of the register, or that the hardware treats so, is RW. Copies of such an instruction in one register
wait for each other like those of any other RW operand, so they need as many registers as possible. These are

- writes of 8 or 16 bits of a general-purpose register,
- `popcnt`, `lzcnt` and `tzcnt`, which wait for their old result on Intel's cores before Ice Lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from iced_x86 import EncodingKind, OpCodeInfo, RegisterExt

from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.dependency_breakers import DependencyBreaker, breakers
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
    MASK,
    MASK_PAIR,
    Hole,
)
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.register_choices import (
    LEGACY_VECTORS,
    LINE,
    R13,
    RBP,
    RESERVED,
    RSP,
    Bank,
    Fixed,
    Part,
    RegisterChoice,
    Role,
    aliases,
    bank_of,
    family_of,
)

INDEX_VECTOR = 15
"""The vector register with the indices of gathers, all zero (see `body_context`)."""

_FAMILIES = frozenset(range(16))  # general-purpose registers
_WITHOUT_REX: dict[str, frozenset[int]] = {
    GPR8.name: frozenset(range(4)),
    GPR8_HIGH.name: frozenset(range(4)),
    **dict.fromkeys((GPR32.name, GPR16.name), frozenset(range(8))),
}
_HALVES = {
    GPR8_LOW_CODE.name: frozenset({0, 1, 2, 3, 8, 9, 10, 11}),
    GPR8_HIGH_CODE.name: frozenset({5, 6, 7, 12, 13}),
}
_FALSELY_DEPENDENT = frozenset({"popcnt", "lzcnt", "tzcnt"})
_BASES = _FAMILIES - {RBP, R13}  # as a base these two always come with a displacement
_INDICES = _FAMILIES - {RSP}


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """All choices of a scheme, its fixed registers, and the role of its memory operand, None without.

    Attributes:
        memory_bytes: Size in bytes of the memory operand, a full line for one with indices.
        low_base: Memory is addressed through rsi, because ah, bh, ch and dh cannot be combined with r14.
        index: The register of indices of the memory operand.
        breakers: Instructions before each instance; their registers are among the choices.
    """

    choices: tuple[RegisterChoice, ...]
    fixed: tuple[Fixed, ...]
    memory: Role | None
    low_base: bool
    index: RegisterValue | None = None
    breakers: tuple[DependencyBreaker, ...] = ()
    memory_bytes: int = LINE


def obstacle(scheme: Scheme, form: Form, *, breaking: bool = False) -> str:
    """Why the scheme cannot be measured, as in its exclusion; "" where it can.

    `breaking`: other instructions may break its dependencies (`dependency_breakers`).
    """
    exclusions = reasons(form, OpCodeInfo(form.code), scheme.category, features(form.code), scheme.operands)
    return next((reason for reason in exclusions if prevents_measuring(reason, breaking=breaking)), "")


def demands(scheme: Scheme, form: Form) -> Demands:
    """The demands of a scheme without `obstacle`."""
    high = any(hole.name == GPR8_HIGH.name for hole in form.holes)
    explicit = [operand for operand in scheme.operands if not operand.implicit]
    choices: list[RegisterChoice] = []
    memory: Role | None = None
    memory_bytes = LINE
    index: RegisterValue | None = None
    for position, (hole, operand) in enumerate(zip(form.holes, explicit, strict=True)):
        if hole.kind == "register" and not hole.fixed:
            choices.append(_register(scheme, form, position, operand, high=high))
        elif hole.kind == "address":
            choices.extend(_address(position, hole))
        elif hole.kind == "memory":
            memory = operand.access or "R"
            index = _index(hole)
            memory_bytes = LINE if index is not None else hole.width // 8
    mask = _mask(scheme, form, choices)
    used_up = mask if scheme.category == "gather" else None
    if mask is not None and mask not in choices:
        choices.append(mask)
    before = tuple(breakers(scheme, choices, used_up))
    choices += [choice for breaker in before for choice in breaker.choices]
    fixed = [Fixed.of(operand) for operand in scheme.operands if _is_fixed_register(operand)]
    fixed += _reserved_registers(form, index)
    low_base = high and memory is not None
    return Demands(tuple(choices), tuple(fixed), memory, low_base, index, before, memory_bytes)


def _register(scheme: Scheme, form: Form, position: int, operand: Operand, *, high: bool) -> RegisterChoice:
    hole = form.holes[position]
    bank = bank_of(hole.name)
    registers = aliases(hole.name, choosable=True)
    fitting = _HALVES.get(hole.name, frozenset(registers))
    if high:
        fitting &= _WITHOUT_REX[hole.name]
    if bank == "vector" and OpCodeInfo(form.code).encoding != EncodingKind.EVEX:
        fitting &= frozenset(range(LEGACY_VECTORS))
    allowed = {family: registers[family] for family in sorted(fitting & registers.keys())}
    return RegisterChoice(bank, _role(scheme, operand, bank), "register", position, allowed, hole.name)


def _role(scheme: Scheme, operand: Operand, bank: Bank) -> Role:
    partial = bank == "general" and operand.width < GPR32.width
    if operand.access == "W" and (partial or scheme.mnemonic in _FALSELY_DEPENDENT):
        return "RW"
    return operand.access or "R"


def _address(position: int, hole: Hole) -> Iterator[RegisterChoice]:
    shape = ADDRESS_SHAPES[hole.shape]
    names = aliases(GPR64.name)
    parts: Sequence[tuple[Part, RegisterValue, frozenset[int]]] = (
        ("base", shape.base, _BASES),
        ("index", shape.index, _INDICES),
    )
    for part, register, families in parts:
        if RegisterExt.is_gpr(register):
            fitting = sorted(families - RESERVED["general"])
            yield RegisterChoice(
                "general", "R", part, position, {family: names[family] for family in fitting}
            )


def _index(hole: Hole) -> RegisterValue | None:
    """The register of indices in the hole's width; None without."""
    if not RegisterExt.is_vector_register(hole.vector_index):
        return None
    _, family = family_of(hole.vector_index)
    return cast(RegisterValue, hole.vector_index + INDEX_VECTOR - family)


def _mask(scheme: Scheme, form: Form, choices: Sequence[RegisterChoice]) -> RegisterChoice | None:
    """The mask that EVEX adds, or the last operand of AVX2's gathers."""
    gathers = scheme.category == "gather"
    if form.masking:
        role: Role = "RW" if gathers else "R"
        return RegisterChoice("mask", role, "mask", 0, aliases(MASK.name, choosable=True), MASK.name)
    return choices[-1] if gathers else None


def _is_fixed_register(operand: Operand) -> bool:
    return operand.kind == "register" and bool(operand.registers)


def _reserved_registers(form: Form, index: RegisterValue | None) -> Iterator[Fixed]:
    """Registers that no other operand may use: the indices, and the second of each pair of masks."""
    if index is not None:
        yield Fixed("vector", INDEX_VECTOR, "RW")
    for hole in form.holes:
        if hole.name == MASK_PAIR.name:
            yield from (Fixed("mask", family + 1, "RW") for family in aliases(hole.name))
