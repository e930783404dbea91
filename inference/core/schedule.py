"""One optimal distribution of an experiment's µops to the ports: the bucket picture (thesis Fig. 3.2).

Optimal distributions are rarely unique. This one is *fair* and therefore determined: port loads are spread
as evenly as the port sets allow (first the bottleneck, then what is left, again and again), and under these
loads each kind of µop is spread over its ports as evenly as possible (largest entropy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.experiment import Experiment
from inference.core.flow import densest_ports
from inference.core.mapping import PortMapping, ports_in
from inference.core.throughput import work_of

_TOLERANCE = 1e-13
_MAX_SWEEPS = 20_000


@dataclass(frozen=True)
class Schedule:
    """Where the µops of an experiment run; all amounts are cycles of port time per execution.

    `cycles`: inverse throughput, R_max included; `port_cycles`: what the ports alone would need.
    `loads[k]`: work on port k. `shares[(mask, k)]` > 0: work of the µops `mask` on port k.
    `scheme_shares[scheme][(mask, k)]` > 0: the part of it that comes from one scheme.
    `bottleneck`: the ports that are busy all of `port_cycles` in every optimal distribution, ascending.
    """

    ports: tuple[str, ...]
    cycles: float
    port_cycles: float
    loads: tuple[float, ...]
    shares: Mapping[tuple[int, int], float]
    scheme_shares: Mapping[str, Mapping[tuple[int, int], float]]
    bottleneck: tuple[int, ...]

    @property
    def limited_by_r_max(self) -> bool:
        """Whether the bottleneck outside the ports takes longer than the ports do."""
        return self.cycles > self.port_cycles


def schedule(mapping: PortMapping, experiment: Experiment) -> Schedule:
    """The fair optimal distribution of the experiment's µops. Raises `UnknownSchemeError`."""
    work = work_of(mapping, experiment)
    shares: dict[tuple[int, int], float] = {}
    loads = [0.0] * len(mapping.ports)
    levels = _levels(work)
    for level in levels:
        for port in ports_in(level.ports):
            loads[port] = level.mass / level.width
        shares.update(level.spread())
    port_cycles = levels[0].mass / levels[0].width if levels else 0.0
    cycles = port_cycles if mapping.r_max is None else max(port_cycles, experiment.length / mapping.r_max)
    return Schedule(
        ports=mapping.ports,
        cycles=cycles,
        port_cycles=port_cycles,
        loads=tuple(loads),
        shares=dict(sorted(shares.items())),
        scheme_shares=_by_scheme(mapping, experiment, work, shares),
        bottleneck=tuple(ports_in(levels[0].ports)) if levels else (),
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

        Scaling rows and columns in turn, from equal shares, converges to just that (iterative proportional
        fitting), quickly because every open place holds a positive amount in the limit.
        """
        masks = sorted(self.work)
        ports = list(ports_in(self.ports))
        amounts = np.array([[float(self.open_to[mask] >> port & 1) for port in ports] for mask in masks])
        rows = np.array([self.work[mask] for mask in masks], dtype=np.float64)
        load = self.mass / self.width
        for _ in range(_MAX_SWEEPS):
            amounts *= (rows / amounts.sum(axis=1))[:, None]
            columns = amounts.sum(axis=0)
            if np.all(np.abs(columns - load) <= _TOLERANCE * load):
                break
            amounts *= load / columns
        return _nonzero(amounts, masks, ports)


def _nonzero(
    amounts: npt.NDArray[np.float64], masks: list[int], ports: list[int]
) -> dict[tuple[int, int], float]:
    return {
        (masks[row], ports[column]): float(amounts[row, column])
        for row, column in np.argwhere(amounts > 0).tolist()
    }


def _levels(work: Mapping[int, int]) -> list[_Level]:
    """Peel off the busiest ports with the work bound to them, until no work is left; loads fall."""
    left = {mask: (mask, amount) for mask, amount in work.items() if amount}
    levels = []
    while left:
        masses: dict[int, int] = {}
        for remaining, amount in left.values():
            masses[remaining] = masses.get(remaining, 0) + amount
        densest = densest_ports(masses)
        bound = {mask: left[mask] for mask in sorted(left) if left[mask][0] & ~densest.ports == 0}
        open_to = _open_places({mask: densest.placed[mask] for mask in masses if mask & ~densest.ports == 0})
        levels.append(
            _Level(
                mass=sum(amount for _, amount in bound.values()),
                width=densest.ports.bit_count(),
                ports=densest.ports,
                work={mask: amount for mask, (_, amount) in bound.items()},
                open_to={mask: open_to[remaining] for mask, (remaining, _) in bound.items()},
            )
        )
        left = {
            mask: (remaining & ~densest.ports, amount)
            for mask, (remaining, amount) in left.items()
            if mask not in bound
        }
    return levels


def _open_places(placed: Mapping[int, Mapping[int, int]]) -> dict[int, int]:
    """For each kind of µop the ports that it can get work to in some distribution with the same port loads.

    Moving work of u onto port k must push other work off k along a cycle back to u. So port k is open to u
    exactly if, with steps u → any port of u and k → any µops that have work on k, k leads back to u.
    """
    reach: dict[int, int] = {}
    for start in placed:
        seen, frontier = 0, start
        while frontier & ~seen:
            seen |= frontier
            for mask, share in placed.items():
                if any(amount and seen >> port & 1 for port, amount in share.items()):
                    frontier |= mask
        reach[start] = seen
    open_to = {}
    for mask in placed:
        open_to[mask] = 0
        for port in ports_in(mask):
            users = [other for other, share in placed.items() if share.get(port, 0)]
            if mask in users or any(placed[mask].get(k, 0) for u in users for k in ports_in(reach[u])):
                open_to[mask] |= 1 << port
    return open_to


def _by_scheme(
    mapping: PortMapping,
    experiment: Experiment,
    work: Mapping[int, int],
    shares: Mapping[tuple[int, int], float],
) -> dict[str, dict[tuple[int, int], float]]:
    """Equal µops are interchangeable: each scheme gets its part of every share."""
    result: dict[str, dict[tuple[int, int], float]] = {}
    for scheme, repeats in experiment.terms:
        own = dict(mapping.usage[scheme])
        result[scheme] = {
            (mask, port): amount * own[mask] * repeats / work[mask]
            for (mask, port), amount in sorted(shares.items())
            if mask in own
        }
    return result
