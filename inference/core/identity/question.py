"""What is asked of a distinguishing experiment, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from inference.core.mapping import Uops


def decimal(value: float) -> Fraction:
    """The number as it is written: 0.02 is 1/50, not the binary fraction next to it."""
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class SchemeClass:
    """Schemes that both mappings treat alike, represented by the first of them, with their µops in each."""

    scheme: str
    uops: tuple[Uops, Uops]


@dataclass(frozen=True)
class Question:
    """Find an experiment with |t₁ - t₂| > `margin` · |e|, where tᵢ = max(tp⁻¹ᵢ, |e| / ratesᵢ).

    `classes`: what experiments are made of, in ascending order of their schemes. `margin`: cycles per
    instruction. `rates`: the R_max of each mapping in instructions per cycle, None for none. An answer is a
    tuple of indices of classes in ascending order, repeats listed.
    """

    classes: tuple[SchemeClass, ...]
    margin: Fraction
    rates: tuple[float | None, float | None]

    @staticmethod
    def classes_of(schemes: Iterable[tuple[str, Uops, Uops]]) -> tuple[SchemeClass, ...]:
        """One class for each pair of µops among (scheme, µops, µops), which come in ascending order.

        The first smallest experiment has no use for the other schemes of a class: replacing each by the first
        one changes neither prediction and makes the list of its instructions no larger.
        """
        classes: dict[tuple[Uops, Uops], SchemeClass] = {}
        for scheme, first, second in schemes:
            classes.setdefault((first, second), SchemeClass(scheme, (first, second)))
        return tuple(classes.values())

    @cached_property
    def floors(self) -> tuple[Fraction, Fraction]:
        """The fewest cycles per instruction that each mapping's R_max allows."""
        first, second = (Fraction(0) if rate is None else 1 / decimal(rate) for rate in self.rates)
        return first, second

    @property
    def is_two_level(self) -> bool:
        """Whether every scheme has one µop, or none."""
        return all(sum(count for _, count in uops) <= 1 for each in self.classes for uops in each.uops)
