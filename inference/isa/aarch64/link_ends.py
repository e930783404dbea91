"""Operands of AArch64 schemes that are sources or destinations of latencies, and values of some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inference.isa.aarch64 import instruction_set
from inference.isa.chains import QUICK, SLOW, ValueClass, float_values
from inference.isa.scheme import Operand, Scheme

ADDRESS, INDEX, DATA, BASE, FLAGS, MEMORY = "address", "index", "data", "base", "flags", "memory"
_FIELD = re.compile(r"\{([a-z]+[0-9]*)\}")


@dataclass(frozen=True, slots=True)
class AArch64LinkEnd:
    """An operand, or a part of one, as a source or a destination. `position`: of an explicit operand."""

    name: str
    bank: str
    operand: Operand
    position: int | None = None

    @property
    def is_in_address(self) -> bool:
        return self.name.endswith((ADDRESS, INDEX))


def link_ends(scheme: Scheme) -> Iterator[AArch64LinkEnd]:
    """All operands in order, those of memory in their parts, the flags last."""
    forms = instruction_set().forms
    for number, operand in enumerate(scheme.operands):
        if operand.implicit:
            if operand.name == BASE:
                yield AArch64LinkEnd(BASE, "general", operand)
            continue
        form, name = forms[operand.name], str(number + 1)
        if operand.kind == "memory":
            fields = set(_FIELD.findall(form.assembly))
            if fields & {"base", "memory"}:
                yield AArch64LinkEnd(f"{name} {ADDRESS}", "general", operand, number)
            if fields & {"index", "index32"}:
                yield AArch64LinkEnd(f"{name} {INDEX}", "general", operand, number)
            yield AArch64LinkEnd(f"{name} {DATA}", MEMORY, operand, number)
        elif form.bank:
            yield AArch64LinkEnd(name, form.bank, operand, number)
    flags = [operand for operand in scheme.operands if operand.kind == "flags"]
    yield from (AArch64LinkEnd(FLAGS, FLAGS, operand) for operand in flags[:1])


def is_source(end: AArch64LinkEnd) -> bool:
    """Whether a latency can begin here; the base that a pre- or post-indexed access moves is the address."""
    return end.is_in_address or ("R" in end.operand.access and end.name != BASE)


def is_target(end: AArch64LinkEnd) -> bool:
    return not end.is_in_address and "W" in end.operand.access


def bank_in_words(end: AArch64LinkEnd) -> str:
    if end.is_in_address:
        return "an address"
    words = {"general": "a general-purpose register", "vector": "a vector register"}
    return words.get(end.bank, end.bank)


_DIVIDEND, _DIVISOR = 0x743A9ED744556677, 3
"""With this divisor the quotient has nearly all bits, signed or not."""

_BITS = {"H": 16, "S": 32, "D": 64}
_VECTOR = re.compile(r"VEC\[\d+([HSD])\]")


@dataclass(frozen=True, slots=True)
class EndValues:
    """Values of operands, by the operands' names: 64 bits, which vectors repeat."""

    kind: ValueClass
    patterns: Mapping[str, int]


def values_of(scheme: Scheme) -> tuple[EndValues, ...]:
    """The quick and the slow values; () where values make no difference."""
    if scheme.mnemonic in {"sdiv", "udiv"}:
        return tuple(_integer_division(scheme))
    if scheme.mnemonic in {"fdiv", "fsqrt"}:
        return tuple(_floating(scheme))
    return ()


def _integer_division(scheme: Scheme) -> Iterator[EndValues]:
    dividend, divisor = (end.name for end in link_ends(scheme) if is_source(end))
    large = _DIVIDEND >> (64 - scheme.operands[0].width)
    for name, first, second in ((QUICK, 0, 1), (SLOW, large, _DIVISOR)):
        description = f"{first:#x} / {second}" if first else f"{first} / {second}"
        yield EndValues(ValueClass(name, description), {dividend: first, divisor: second})


def _floating(scheme: Scheme) -> Iterator[EndValues]:
    read = [end for end in link_ends(scheme) if is_source(end)]
    vector = _VECTOR.fullmatch(read[0].operand.name)
    bits = read[0].operand.width if vector is None else _BITS[vector[1]]
    for values in float_values(bits):
        if scheme.mnemonic == "fsqrt":
            yield EndValues(values.root, {read[0].name: values.dividend})
        else:
            both = {read[0].name: values.dividend, read[1].name: values.divisor}
            yield EndValues(values.quotient, both)


def with_value(bank: str, number: int, value: int, scratch: int) -> Iterator[str]:
    """Lines that write these 64 bits to a register, or to both halves of a vector register."""
    general = number if bank == "general" else scratch
    yield f"mov x{general}, #{value & 0xFFFF}"
    for shift in (16, 32, 48):
        if part := value >> shift & 0xFFFF:
            yield f"movk x{general}, #{part}, lsl #{shift}"
    if bank != "general":
        yield f"dup v{number}.2d, x{general}"
