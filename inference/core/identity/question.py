"""What is asked of a distinguishing experiment, in exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from inference.core.mapping import Uops


def decimal(value: float) -> Fraction:
    """The number as it is written: 0.02 is 1/50, not the binary fraction next to it."""
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class SchemeClass:
    """Schemes that both mappings treat alike, represented by the first of them.

    With their µops in each mapping, and the issue slots that they take in each.
    """

    scheme: str
    uops: tuple[Uops, Uops]
    slots: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class DistinguishingQuestion:
    """Find an experiment with |t₁ - t₂| > `margin` · |e|; tᵢ = max(tp⁻¹ᵢ, |e| / ratesᵢ, slots / widthsᵢ).

    `classes`: what experiments are made of, in ascending order of their schemes. `margin`: cycles per
    instruction. `rates`: the R_max of each mapping in instructions per cycle, `widths` its issue width in
    slots per cycle, None for none. An answer is a tuple of indices of classes in ascending order, repeats
    listed. `pulse` is called between steps, and may raise to end the search.
    """

    classes: tuple[SchemeClass, ...]
    margin: Fraction
    rates: tuple[float | None, float | None]
    widths: tuple[float | None, float | None] = (None, None)
    pulse: Callable[[], None] = field(default=lambda: None, compare=False)

    @staticmethod
    def classes_of(schemes: Iterable[SchemeClass]) -> tuple[SchemeClass, ...]:
        """One class for all schemes of the same µops and slots; they come in ascending order.

        The first smallest experiment has no use for the other schemes of a class: replacing each by the first
        one changes neither prediction and makes the list of its instructions no larger.
        """
        classes: dict[object, SchemeClass] = {}
        for each in schemes:
            classes.setdefault((each.uops, each.slots), each)
        return tuple(classes.values())

    @cached_property
    def floors(self) -> tuple[Fraction, Fraction]:
        """The fewest cycles per instruction that each mapping's limits allow: none takes less than a slot."""
        first, second = (
            max(_per_unit(rate), _per_unit(width))
            for rate, width in zip(self.rates, self.widths, strict=True)
        )
        return first, second

    @cached_property
    def per_slot(self) -> tuple[Fraction, Fraction]:
        """Cycles per issue slot in each mapping, 0 where it has no issue width."""
        first, second = (_per_unit(width) for width in self.widths)
        return first, second

    @property
    def is_two_level(self) -> bool:
        """Whether every scheme has one µop, or none, and takes one slot where an issue width counts them."""
        return all(
            sum(count for _, count in uops) <= 1 and (slots == 1 or not per_slot)
            for each in self.classes
            for uops, slots, per_slot in zip(each.uops, each.slots, self.per_slot, strict=True)
        )


def _per_unit(rate: float | None) -> Fraction:
    return Fraction(0) if rate is None else 1 / decimal(rate)
