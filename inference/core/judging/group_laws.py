"""The law by which an instruction's time grows with the number of registers in a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

TOLERANCE = 0.1
"""Share of a time by which it may differ from a law's: rvv-bench's numbers of one core vary as much."""

LEAST_SIZES = 3
"""Sizes of groups that show a law: any two times fit several."""


class GroupLaw(StrEnum):
    """The law, in the order in which laws are tried; `NONE` where none fits."""

    CONSTANT = "constant"
    PROPORTIONAL = "proportional"
    FLOOR = "proportional above a floor"
    LINEAR = "proportional after a start"
    QUADRATIC = "quadratic"
    NONE = "no simple law"


@dataclass(frozen=True)
class GroupTimes:
    """`scheme`: that of one register. `cycles`: by the number of registers, in ascending order."""

    scheme: str
    cycles: Mapping[int, float]
    law: GroupLaw

    @property
    def pattern(self) -> str:
        """`1/2/4/8`: the times in order."""
        return "/".join(f"{value:.3g}" for value in self.cycles.values())


def law_of(cycles: Mapping[int, float]) -> GroupLaw:
    """The law of times by number of registers, which has the time of one register.

    >>> law_of({1: 1.0, 2: 2.0, 4: 4.1, 8: 8.0})
    <GroupLaw.PROPORTIONAL: 'proportional'>
    >>> law_of({1: 4.0, 2: 4.0, 4: 8.0, 8: 16.0})
    <GroupLaw.FLOOR: 'proportional above a floor'>
    >>> law_of({1: 3.0, 2: 5.0, 4: 9.0, 8: 17.0})
    <GroupLaw.LINEAR: 'proportional after a start'>
    """
    single, largest = cycles[1], max(cycles)
    slope = cycles[largest] / largest
    growth = (cycles[largest] - single) / (largest - 1)
    laws: dict[GroupLaw, Callable[[int], float]] = {
        GroupLaw.CONSTANT: lambda size: single,
        GroupLaw.PROPORTIONAL: lambda size: single * size,
        GroupLaw.FLOOR: lambda size: max(single, slope * size),
        GroupLaw.LINEAR: lambda size: single + growth * (size - 1),
        GroupLaw.QUADRATIC: lambda size: single * size**2,
    }
    fitting = (
        law
        for law, expected in laws.items()
        if all(abs(value - expected(size)) <= TOLERANCE * value for size, value in cycles.items())
    )
    return next(fitting, GroupLaw.NONE)


def group_times(families: Iterable[Mapping[int, str]], cycles: Mapping[str, float]) -> Iterator[GroupTimes]:
    """The laws of the instructions that were measured in enough sizes of groups.

    Args:
        families: {registers: scheme} of each instruction.
        cycles: {scheme: time of one execution}; 0 or less for one without a time.
    """
    for family in families:
        times = {size: cycles.get(scheme, 0.0) for size, scheme in sorted(family.items())}
        positive = {size: value for size, value in times.items() if value > 0}
        if 1 in positive and len(positive) >= LEAST_SIZES:
            yield GroupTimes(family[1], positive, law_of(positive))
