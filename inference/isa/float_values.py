"""Floating-point numbers of which quotients and roots are quick or slow, as bits of any size of element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inference.isa.chains import QUICK, SLOW, ValueClass

BITS = 64


@dataclass(frozen=True, slots=True)
class FloatValues:
    """A dividend and a divisor, or the same for a root, as 64 bits that repeat them.

    `quotient` and `root` are their classes.
    """

    dividend: int
    divisor: int
    quotient: ValueClass
    root: ValueClass


_ELEMENTS: Mapping[int, tuple[int, int, int]] = {
    # bits of an element: 1, √2, and 1.2360…: their quotient, and the root of √2, have no end
    16: (0x3C00, 0x3DA8, 0x3CF2),
    32: (0x3F800000, 0x3FB504F3, 0x3F9E3779),
    64: (0x3FF0000000000000, 0x3FF6A09E667F3BCD, 0x3FF3C6EF372FE94F),
}


def float_values(bits: int) -> tuple[FloatValues, FloatValues]:
    """The quick ones and the slow ones of elements of so many bits: 16, 32 or 64."""
    one, root, divisor = (_repeated(pattern, bits) for pattern in _ELEMENTS[bits])
    return (
        FloatValues(one, one, ValueClass(QUICK, "1 / 1"), ValueClass(QUICK, "root of 1")),
        FloatValues(root, divisor, ValueClass(SLOW, "√2 / 1.236…"), ValueClass(SLOW, "root of √2")),
    )


def _repeated(pattern: int, bits: int) -> int:
    return sum(pattern << at for at in range(0, BITS, bits))
