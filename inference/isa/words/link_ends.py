"""Operands of schemes of words that are sources or destinations of latencies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inference.isa.chains import ValueClass
from inference.isa.document import OperandForm
from inference.isa.scheme import Operand, Scheme

ADDRESS, INDEX, DATA, BASE, FLAGS, MEMORY = "address", "index", "data", "base", "flags", "memory"
_FIELD = re.compile(r"\{([a-z]+[0-9]*)\}")
_BANKS = {
    "general": "a general-purpose register",
    "vector": "a vector register",
    "float": "a floating-point register",
}


@dataclass(frozen=True, slots=True)
class OperandEnd:
    """An operand, or a part of one, as a source or a destination. `position`: of an explicit operand."""

    name: str
    bank: str
    operand: Operand
    position: int | None = None

    @property
    def is_in_address(self) -> bool:
        return self.name.endswith((ADDRESS, INDEX))


@dataclass(frozen=True, slots=True)
class EndValues:
    """Values of operands, by the operands' names: 64 bits, which vectors repeat."""

    kind: ValueClass
    patterns: Mapping[str, int]


def link_ends(scheme: Scheme, forms: Mapping[str, OperandForm]) -> Iterator[OperandEnd]:
    """All operands in order, those of memory in their parts, the flags last."""
    for number, operand in enumerate(scheme.operands):
        if operand.implicit:
            if operand.name == BASE:
                yield OperandEnd(BASE, "general", operand)
            continue
        form, name = forms[operand.name], str(number + 1)
        if operand.kind == "memory":
            fields = set(_FIELD.findall(form.assembly))
            if fields & {"base", "memory"}:
                yield OperandEnd(f"{name} {ADDRESS}", "general", operand, number)
            if fields & {"index", "index32"}:
                yield OperandEnd(f"{name} {INDEX}", "general", operand, number)
            yield OperandEnd(f"{name} {DATA}", MEMORY, operand, number)
        elif form.bank:
            yield OperandEnd(name, form.bank, operand, number)
    flags = [operand for operand in scheme.operands if operand.kind == "flags"]
    yield from (OperandEnd(FLAGS, FLAGS, operand) for operand in flags[:1])


def is_source(end: OperandEnd) -> bool:
    """Whether a latency can begin here; the base that a pre- or post-indexed access moves is the address."""
    return end.is_in_address or ("R" in end.operand.access and end.name != BASE)


def is_target(end: OperandEnd) -> bool:
    return not end.is_in_address and "W" in end.operand.access


def bank_in_words(end: OperandEnd) -> str:
    return "an address" if end.is_in_address else _BANKS.get(end.bank, end.bank)
