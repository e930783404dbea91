"""How far the load of each port can vary among all optimal distributions of an experiment's µops.

A distribution is optimal if no port works longer than the time that the experiment takes. That is `tp⁻¹`
where the ports limit it; where R_max does, the ports have `|e| / R_max` cycles and more freedom.
`load_intervals` takes either time, `schedule` passes the larger of the two: what the model says the processor
needs.

Why one flow per port is enough. Let ρ(Q) be the most work that the ports Q could take together, t at each. A
maximum flow into Q can be augmented to a flow that places all work (there is one, t being long enough), and
augmenting never takes load off a port of Q. So there is an optimal distribution with ρ(Q) on Q, and none with
more. For port k that gives, W being all work:

- greatest load: ρ({k}) = min(t, mass{u : k ∈ ports(u)});
- least load: W − ρ(P ∖ {k}), what the other ports cannot take. Starting from any optimal distribution, it is
  what stays on k when as much as possible is pushed off it.

Each port can have every load between the two (mix the two distributions), but not all ports independently.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from inference.core.errors import InvalidInputError
from inference.core.flow import Packing, densest_ports, packed
from inference.core.throughput import check_work


class Interval(NamedTuple):
    """The least and the greatest load of a port, in cycles."""

    least: float
    greatest: float

    @property
    def is_fixed(self) -> bool:
        """Whether the load is the same in every optimal distribution."""
        return self.least == self.greatest


def load_intervals(
    work: Mapping[int, int], n_ports: int, time: Fraction | float | None = None
) -> tuple[Interval, ...]:
    """The range of each port's load over all distributions that take no longer than `time` cycles.

    `work`: {port mask: µops}; `time`: the ports' own optimum `tp⁻¹` if None. All steps are exact, the bounds
    rounded once. Raises `InvalidInputError` for impossible work, and where `time` is too short for it.
    """
    check_work(work, n_ports)
    masses = {mask: mass for mask, mass in work.items() if mass}
    if not masses:
        return (Interval(0.0, 0.0),) * n_ports
    packing, unit = _packed_within(masses, time)
    intervals = []
    for port in range(n_ports):
        able = sum(mass for mask, mass in masses.items() if mask >> port & 1)
        greatest = min(packing.capacity, able * unit) / unit
        intervals.append(Interval(packing.relieve(port) / unit if able else 0.0, greatest))
    return tuple(intervals)


def _packed_within(masses: Mapping[int, int], time: Fraction | float | None) -> tuple[Packing, int]:
    """All work on ports that are open for `time`, in units of 1/(the number returned)."""
    if time is not None:
        limit = _exactly(time)
        if limit > 0:
            packing = packed(masses, capacity=limit.numerator, unit=limit.denominator)
            if not packing.overfull:
                return packing, limit.denominator
    densest = densest_ports(masses)
    if time is not None:
        needed = densest.mass / densest.width
        raise InvalidInputError(f"the µops need {needed:g} cycles; {time!s} are too few")
    return densest.packing, densest.width


def _exactly(time: Fraction | float) -> Fraction:
    try:
        return Fraction(time)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"a time must be a finite number of cycles, not {time!r}") from None
