"""What loop bodies of all instruction sets have in common (thesis §3.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from inference.isa.dependences import InstructionAccesses

LEFT_OUT = 2
"""Registers that may stay unused for the sake of evenly mixed chains."""


@dataclass(frozen=True, slots=True)
class LoopSize:
    """Of a loop body: its `instructions` and bytes, with so many `copies` of an experiment."""

    instructions: int
    size: int
    copies: int


@dataclass(frozen=True, slots=True)
class BodyAccesses:
    """The `instructions` of a loop body of `size` bytes, which has so many `copies` of an experiment."""

    instructions: tuple[InstructionAccesses, ...]
    copies: int
    size: int


class CannotMeasureError(ValueError):
    """A scheme that cannot be part of an experiment on a real processor, and why."""

    def __init__(self, scheme: str, reason: str) -> None:
        self.scheme = scheme
        self.reason = reason
        super().__init__(f"{scheme!r} cannot be measured: {reason}")


def interleaved(terms: Sequence[tuple[str, int]]) -> list[str]:
    """The schemes of one copy, the instances of each as far apart as they can be.

    `terms` are (scheme text, multiplicity) pairs. Raises `ValueError` for a multiplicity below 1.
    """
    counts: dict[str, int] = {}
    for text, count in terms:
        if count < 1:
            raise ValueError(f"the multiplicity of {text!r} must be > 0, not {count}")
        counts[text] = counts.get(text, 0) + count
    places = [((2 * k + 1) / count, text) for text, count in counts.items() for k in range(count)]
    return [text for _, text in sorted(places)]


def evenly_mixed(fewest: int, most: int, operands: int) -> int:
    """How many of `most` registers, but at least `fewest`, so many operands per copy had best take turns in.

    In a number that has a factor in common with that of the operands, each operand would get registers of its
    own: quick instructions would wait for nobody and slow ones only for each other.
    """
    sizes = range(most, max(fewest, most - LEFT_OUT) - 1, -1)
    return min(sizes, key=lambda size: gcd(size, operands))
