"""Operands of AArch64 schemes as ends of latencies, and values of some."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inference.isa.aarch64 import instruction_set
from inference.isa.chains import QUICK, SLOW, ValueClass, float_values
from inference.isa.scheme import Scheme
from inference.isa.words.link_ends import EndValues, OperandEnd, is_source, link_ends


def ends_of(scheme: Scheme) -> Iterator[OperandEnd]:
    """All operands in order, those of memory in their parts, the flags last."""
    return link_ends(scheme, instruction_set().forms)


_DIVIDEND, _DIVISOR = 0x743A9ED744556677, 3
"""With this divisor the quotient has nearly all bits, signed or not."""

_BITS = {"H": 16, "S": 32, "D": 64}
_VECTOR = re.compile(r"VEC\[\d+([HSD])\]")


def values_of(scheme: Scheme) -> tuple[EndValues, ...]:
    """The quick and the slow values; () where values make no difference."""
    if scheme.mnemonic in {"sdiv", "udiv"}:
        return tuple(_integer_division(scheme))
    if scheme.mnemonic in {"fdiv", "fsqrt"}:
        return tuple(_floating_point_values(scheme))
    return ()


def _integer_division(scheme: Scheme) -> Iterator[EndValues]:
    dividend, divisor = (end.name for end in ends_of(scheme) if is_source(end))
    large = _DIVIDEND >> (64 - scheme.operands[0].width)
    for name, first, second in ((QUICK, 0, 1), (SLOW, large, _DIVISOR)):
        description = f"{first:#x} / {second}" if first else f"{first} / {second}"
        yield EndValues(ValueClass(name, description), {dividend: first, divisor: second})


def _floating_point_values(scheme: Scheme) -> Iterator[EndValues]:
    read = [end for end in ends_of(scheme) if is_source(end)]
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
