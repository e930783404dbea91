"""Optimal distributions of an experiment's µops over the ports: a fair one, and how far the others can
differ.

The fair one is the bucket picture (thesis Fig. 3.2). Optimal distributions are rarely unique; this one is:
port loads are spread as evenly as the port sets allow (first the bottleneck, then the remaining ports,
repeatedly), and under these loads each kind of µop is spread over its ports as evenly as possible (largest
entropy).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, ports_in
from inference.core.tables import Floats
from inference.core.throughput import Densest, check_work, densest_ports, pack, port_bound, work_of

PORTS, INSTRUCTIONS, SLOTS = "ports", "instructions", "slots"

_TOLERANCE = 1e-13
_MAX_STEPS = 2_000


@dataclass(frozen=True)
class Schedule:
    """Where the µops of an experiment run; amounts are cycles of port time per execution.

    `counts` and `slots`: multiplicity of each scheme of the experiment, and the issue slots that it takes
    altogether.

    Attributes:
        cycles: Inverse throughput, all limits included.
        port_cycles: Cycles of the ports alone.
        limits: Cycles of each limit outside them, {"instructions" or "slots": cycles}. `loads[k]`: work on
            port k. `shares[(mask, k)]` > 0: work of the µops `mask` on port k.
            `scheme_shares[scheme][(mask, k)]` > 0: the part of it that comes from one scheme.
        bottleneck: The ports that are busy for all of `port_cycles` in every distribution that takes no
            longer. `intervals[k]`: the least and the greatest load of port k among all distributions within
            `cycles`.
    """

    ports: tuple[str, ...]
    cycles: float
    port_cycles: float
    loads: tuple[float, ...]
    shares: Mapping[tuple[int, int], float]
    scheme_shares: Mapping[str, Mapping[tuple[int, int], float]]
    bottleneck: tuple[int, ...]
    intervals: tuple[Interval, ...]
    limits: Mapping[str, float]
    counts: Mapping[str, int]
    slots: Mapping[str, int]

    @property
    def limited_by_r_max(self) -> bool:
        """Whether the limit on instructions per cycle takes longer than the ports do."""
        return self.limited_by == INSTRUCTIONS

    @property
    def limited_by(self) -> str:
        """`PORTS`, `INSTRUCTIONS` or `SLOTS`: the limit that takes longest, of equal ones the first."""
        slowest = max(self.limits.values(), default=0.0)
        if self.port_cycles >= slowest:
            return PORTS
        return next(limit for limit, cycles in self.limits.items() if cycles == slowest)


def schedule(mapping: PortMapping, experiment: Experiment) -> Schedule:
    """The fair optimal distribution of the experiment's µops. Raises `UnknownSchemeError`."""
    work = work_of(mapping, experiment)
    spread = distribution(work, len(mapping.ports))
    port_time = spread.cycles
    slots = {scheme: count * mapping.slots_of(scheme) for scheme, count in experiment.terms}
    amounts = {INSTRUCTIONS: experiment.length, SLOTS: sum(slots.values())}
    limits = {unit: amounts[unit] / Fraction(rate) for unit, rate in mapping.limits.items()}
    time = max(port_time, *limits.values()) if limits else port_time
    return Schedule(
        ports=mapping.ports,
        cycles=float(time),
        port_cycles=float(port_time),
        loads=spread.loads,
        shares=spread.shares,
        scheme_shares=_by_scheme(mapping, experiment, work, spread.shares),
        bottleneck=spread.bottleneck,
        intervals=load_intervals(work, len(mapping.ports), time),
        limits={unit: float(cycles) for unit, cycles in limits.items()},
        counts=dict(experiment.terms),
        slots=slots,
    )


@dataclass(frozen=True)
class Distribution:
    """The fair optimal distribution of some work: see `Schedule`."""

    cycles: Fraction
    loads: tuple[float, ...]
    shares: Mapping[tuple[int, int], float]
    bottleneck: tuple[int, ...]


def distribution(work: Mapping[int, int], n_ports: int) -> Distribution:
    """The fair optimal distribution of {port mask: µops} over ports."""
    shares: dict[tuple[int, int], float] = {}
    loads = [0.0] * n_ports
    levels = _levels(work)
    for level in levels:
        for port in ports_in(level.ports):
            loads[port] = level.mass / level.width
        shares.update(level.spread())
    return Distribution(
        Fraction(levels[0].mass, levels[0].width) if levels else Fraction(0),
        tuple(loads),
        dict(sorted(shares.items())),
        tuple(ports_in(levels[0].ports)) if levels else (),
    )


@dataclass(frozen=True)
class _Level:
    """Ports with one load, mass/width each, and the µops that fill them.

    `open_to[mask]`: the ports on which some optimal distribution puts these µops.
    """

    mass: int
    width: int
    ports: int
    work: Mapping[int, int]
    open_to: Mapping[int, int]

    def spread(self) -> dict[tuple[int, int], float]:
        """Amounts per (mask, port) with the right sums and the largest entropy.

        These are the amounts in which a port takes the same share of every kind of µop that is open to it, up
        to a factor for each kind: `amount = factor(mask) · weight(port)`. The weights come from Newton's
        method; where a step of it leads away, ports are scaled to their loads instead (iterative proportional
        fitting), which always converges because every open place holds a positive amount in the limit.
        """
        masks = sorted(self.work)
        ports = list(ports_in(self.ports))
        closed = np.array([[not self.open_to[mask] >> port & 1 for port in ports] for mask in masks])
        rows = np.array([self.work[mask] for mask in masks], dtype=np.float64)
        load = self.mass / self.width
        weights = np.zeros(len(ports))  # their logarithms
        amounts = _amounts(weights, closed, rows)
        for _ in range(_MAX_STEPS):
            columns = amounts.sum(axis=0)
            missing = load - columns
            worst = np.max(np.abs(missing))
            if worst <= _TOLERANCE * load:
                break
            slope = np.diag(columns) - amounts.T @ (amounts / rows[:, None])
            newton = weights + np.linalg.lstsq(slope, missing, rcond=None)[0]
            amounts = _amounts(newton, closed, rows)
            if np.max(np.abs(load - amounts.sum(axis=0))) < worst:
                weights = newton
            else:
                weights = weights + np.log(load / columns)
                amounts = _amounts(weights, closed, rows)
        return _nonzero(amounts, masks, ports)


def _amounts(weights: Floats, closed: npt.NDArray[np.bool_], rows: Floats) -> Floats:
    """Each row's total over its open ports, in proportion to the exponentials of the weights."""
    exponents = np.where(closed, -np.inf, weights)
    parts = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return np.asarray(parts * (rows / parts.sum(axis=1))[:, None])


def _nonzero(amounts: Floats, masks: list[int], ports: list[int]) -> dict[tuple[int, int], float]:
    return {
        (masks[row], ports[column]): float(amounts[row, column])
        for row, column in np.argwhere(amounts > 0).tolist()
    }


def _levels(work: Mapping[int, int]) -> list[_Level]:
    """Remove the busiest ports and their work until no work remains; loads fall from level to level."""
    unplaced = {mask: (mask, amount) for mask, amount in work.items() if amount}
    levels = []
    while unplaced:
        masses: dict[int, int] = {}
        for remaining, amount in unplaced.values():
            masses[remaining] = masses.get(remaining, 0) + amount
        densest = densest_ports(masses)
        bound = {mask: unplaced[mask] for mask in sorted(unplaced) if unplaced[mask][0] & ~densest.ports == 0}
        open_to = _open_places({remaining for remaining, _ in bound.values()}, densest)
        levels.append(
            _Level(
                mass=sum(amount for _, amount in bound.values()),
                width=densest.ports.bit_count(),
                ports=densest.ports,
                work={mask: amount for mask, (_, amount) in bound.items()},
                open_to={mask: open_to[remaining] for mask, (remaining, _) in bound.items()},
            )
        )
        unplaced = {
            mask: (remaining & ~densest.ports, amount)
            for mask, (remaining, amount) in unplaced.items()
            if mask not in bound
        }
    return levels


def _open_places(masks: Collection[int], densest: Densest) -> dict[int, int]:
    """{kind of µop: mask of the ports on which some distribution with the same port loads puts it}.

    Work that moves onto port k must push other work off k, from port to port, until it reaches a port that
    the moved work left. So port k is open to u exactly if u has work on k or on a port that k can push to.
    """
    packing = densest.packing
    ports = list(ports_in(densest.ports))
    reach = {port: packing.moves(port) | 1 << port for port in ports}
    for through in ports:
        for port in ports:
            if reach[port] >> through & 1:
                reach[port] |= reach[through]
    occupied = {mask: sum(1 << port for port in ports if mask in packing.on[port]) for mask in masks}
    return {mask: sum(1 << port for port in ports_in(mask) if reach[port] & occupied[mask]) for mask in masks}


def _by_scheme(
    mapping: PortMapping,
    experiment: Experiment,
    work: Mapping[int, int],
    shares: Mapping[tuple[int, int], float],
) -> dict[str, dict[tuple[int, int], float]]:
    """Equal µops are interchangeable: each scheme gets its part of every share."""
    places: dict[int, list[tuple[int, float]]] = {mask: [] for mask in work}
    for (mask, port), amount in sorted(shares.items()):
        places[mask].append((port, amount / work[mask]))
    return {
        scheme: {
            (mask, port): part * count * repeats
            for mask, count in mapping.usage[scheme]
            for port, part in places[mask]
        }
        for scheme, repeats in experiment.terms
    }


class Interval(NamedTuple):
    """The least and the greatest load of a port, in cycles."""

    least: float
    greatest: float

    @property
    def is_fixed(self) -> bool:
        """Whether the load is the same in every optimal distribution."""
        return self.least == self.greatest


def load_intervals(work: Mapping[int, int], n_ports: int, time: Fraction) -> tuple[Interval, ...]:
    """The range of each port's load over all distributions that take no longer than `time` cycles.

    All steps are exact; the bounds are rounded once.

    Why one flow per port suffices: let ρ(Q) be the most work that the ports Q could take together, t at each.
    A maximum flow into Q can be augmented to a flow that places all work (there is one, t being long enough),
    and augmenting never takes load off a port of Q. So there is an optimal distribution with ρ(Q) on Q, and
    none with more. For port k that gives, W being all work:

    - greatest load: ρ({k}) = min(t, mass{u : k ∈ ports(u)});
    - least load: W − ρ(P ∖ {k}), what the other ports cannot take. Starting from any optimal distribution,
      it is what stays on k when as much as possible is pushed off it.

    Each port can have every load between the two (mix the two distributions), but not all ports
    independently.

    Args:
        work: {port mask: µops}.
        n_ports: Number of ports.
        time: `tp⁻¹` or more, such as `|e| / R_max`.

    Raises:
        InvalidInputError: For impossible work, and where `time` is too short for it.
    """
    check_work(work, n_ports)
    masses = {mask: mass for mask, mass in work.items() if mass}
    if not masses:
        return (Interval(0.0, 0.0),) * n_ports
    unit = time.denominator
    packing = pack(masses, capacity=max(time.numerator, 1), unit=unit)
    if packing.overfull or time <= 0:
        raise InvalidInputError(f"the µops need {port_bound(masses):g} cycles; {time!s} are too few")
    intervals = []
    for port in range(n_ports):
        able = sum(mass for mask, mass in masses.items() if mask >> port & 1)
        greatest = min(packing.capacity, able * unit) / unit
        intervals.append(Interval(packing.relieve(port) / unit if able else 0.0, greatest))
    return tuple(intervals)
