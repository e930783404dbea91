"""What a front end shows in two codes that differ in one thing: fusion, free branches, further slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from inference.isa.front_end import FrontEndCode

Reading = tuple[FrontEndCode, float]
"""A code, and the cycles per copy of it."""

_MIN_SLOT_SHARE = 0.75
"""Share of a slot that a difference must reach to be one: NOPs counted in pairs make up to half of one."""


@dataclass(frozen=True, slots=True)
class FusionPair:
    """Cycles of slot-bound code with two instructions side by side, and with a move between them."""

    name: str
    together: float
    apart: float
    is_fused: bool


@dataclass(frozen=True, slots=True)
class ComparedTimes:
    """Cycles of code without something and with it; `holds`: whether the difference has its effect."""

    name: str
    without: float
    with_it: float
    holds: bool


def fusion_pairs(readings: Sequence[Reading], slots: float | None) -> tuple[FusionPair, ...]:
    """The pairs that were measured both side by side (value 1) and apart (value 0)."""
    if slots is None:
        return ()
    return tuple(
        FusionPair(name, cycles_of[1], cycles_of[0], cycles_of[0] - cycles_of[1] >= _MIN_SLOT_SHARE / slots)
        for name, cycles_of in _cycles_by_name(readings).items()
        if cycles_of.keys() == {0, 1}
    )


_MIN_PORT_SHARE = 0.04
"""Share of the additions' cycles that a comparison on their ports takes at least."""


def branch_port_times(readings: Sequence[Reading]) -> tuple[ComparedTimes, ...]:
    """A fused comparison needs no port where it is nearer the additions alone than those with a comparison.

    Where slots limit additions, a comparison takes as long with a branch as without, and nothing shows.
    """
    by_name = _cycles_by_name(readings)
    additions = by_name.pop("", {}).get(0)
    if additions is None:
        return ()
    return tuple(
        ComparedTimes(
            name,
            cycles[1],
            cycles[2],
            cycles[1] >= (1 + _MIN_PORT_SHARE) * additions and 2 * cycles[2] < additions + cycles[1],
        )
        for name, cycles in by_name.items()
        if cycles.keys() == {1, 2}
    )


def indexed_times(readings: Sequence[Reading], slots: float | None) -> tuple[ComparedTimes, ...]:
    if slots is None:
        return ()
    return tuple(
        ComparedTimes(name, cycles[0], cycles[1], cycles[1] - cycles[0] >= _MIN_SLOT_SHARE / slots)
        for name, cycles in _cycles_by_name(readings).items()
        if cycles.keys() == {0, 1}
    )


def _cycles_by_name(readings: Sequence[Reading]) -> dict[str, dict[int, float]]:
    """{name: {value: cycles}} of codes."""
    by_name: dict[str, dict[int, float]] = defaultdict(dict)
    for code, cycles in readings:
        by_name[code.name][code.value] = cycles
    return by_name
