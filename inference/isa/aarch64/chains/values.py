"""What operands of AArch64 hold in chains of divisions and square roots: quick values, and slow ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inference.isa.aarch64.chains.operands import is_source, spots_of
from inference.isa.chains import QUICK, SLOW, ValueClass
from inference.isa.float_values import float_values
from inference.isa.scheme import Scheme

_DIVIDEND, _DIVISOR = 0x743A9ED744556677, 3
"""The quotient has nearly all bits, signed or not."""
_BITS = {"H": 16, "S": 32, "D": 64}
_VECTOR = re.compile(r"VEC\[\d+([HSD])\]")


@dataclass(frozen=True, slots=True)
class SpotValues:
    """What operands hold: 64 bits, which vectors repeat, by the names of their places."""

    kind: ValueClass
    patterns: Mapping[str, int]


def values_of(scheme: Scheme) -> tuple[SpotValues, ...]:
    """The quick ones and the slow ones; () where values make no difference."""
    if scheme.mnemonic in {"sdiv", "udiv"}:
        return tuple(_integer_division(scheme))
    if scheme.mnemonic in {"fdiv", "fsqrt"}:
        return tuple(_floating(scheme))
    return ()


def _integer_division(scheme: Scheme) -> Iterator[SpotValues]:
    dividend, divisor = (spot.name for spot in spots_of(scheme) if is_source(spot))
    large = _DIVIDEND >> (64 - scheme.operands[0].width)
    for name, first, second in ((QUICK, 0, 1), (SLOW, large, _DIVISOR)):
        told = f"{first:#x} / {second}" if first else f"{first} / {second}"
        yield SpotValues(ValueClass(name, told), {dividend: first, divisor: second})


def _floating(scheme: Scheme) -> Iterator[SpotValues]:
    read = [spot for spot in spots_of(scheme) if is_source(spot)]
    vector = _VECTOR.fullmatch(read[0].operand.name)
    bits = read[0].operand.width if vector is None else _BITS[vector[1]]
    for values in float_values(bits):
        if scheme.mnemonic == "fsqrt":
            yield SpotValues(values.root, {read[0].name: values.dividend})
        else:
            both = {read[0].name: values.dividend, read[1].name: values.divisor}
            yield SpotValues(values.quotient, both)


def with_value(bank: str, number: int, value: int, scratch: int) -> Iterator[str]:
    """Lines that write these 64 bits to a register, and to both halves of a vector register."""
    general = number if bank == "general" else scratch
    yield f"mov x{general}, #{value & 0xFFFF}"
    for shift in (16, 32, 48):
        if part := value >> shift & 0xFFFF:
            yield f"movk x{general}, #{part}, lsl #{shift}"
    if bank != "general":
        yield f"dup v{number}.2d, x{general}"
