"""The densest set of ports, found by maximum flow: exact, and polynomial where enumeration would explode.

`tp⁻¹` is the largest ratio of work to ports, `max over Q of mass{u : ports(u) ⊆ Q} / |Q|` (thesis Thm 5.2).
Dinkelbach's iteration finds it: guess a ratio, try to fit the work into ports of that capacity, and where
it does not fit take the ratio of the port set that overflowed. All numbers are whole, so nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from inference.core.mapping import ports_in


@dataclass
class Packing:
    """Work packed into ports of equal capacity by augmenting paths.

    Amounts are whole numbers in a unit that the caller chooses. `placed[mask][port]` is the amount of the
    µops `mask` on `port`; `overfull` is the union of the port sets that could not take all their work.
    """

    capacity: int
    placed: dict[int, dict[int, int]] = field(default_factory=dict)
    load: dict[int, int] = field(default_factory=dict)
    overfull: int = 0

    def add(self, mask: int, amount: int) -> None:
        """Pack `amount` of the µops `mask`, moving others where that makes room; the rest overflows."""
        self.placed[mask] = {}
        while amount:
            path, reached = self._path_to_room(mask)
            if not path:
                self.overfull |= reached
                return
            amount -= self._shift(path, amount)

    def _path_to_room(self, start: int) -> tuple[list[tuple[int, int]], int]:
        """A shortest chain of (µops, port) moves that ends in a port with room, and the ports looked at."""
        came_from: dict[int, tuple[int, int] | None] = {start: None}  # µops -> (pushing µops, port left)
        reached = 0
        queue = [start]
        for uops in queue:
            for port in ports_in(uops & ~reached):
                reached |= 1 << port
                if self.load.get(port, 0) < self.capacity:
                    return self._chain(came_from, uops, port), reached
                for other, share in self.placed.items():
                    if other not in came_from and share.get(port, 0):
                        came_from[other] = (uops, port)
                        queue.append(other)
        return [], reached

    @staticmethod
    def _chain(
        came_from: Mapping[int, tuple[int, int] | None], uops: int, port: int
    ) -> list[tuple[int, int]]:
        path = [(uops, port)]
        while (step := came_from[path[-1][0]]) is not None:
            path.append(step)
        return path

    def _shift(self, path: list[tuple[int, int]], amount: int) -> int:
        """Move as much as fits along the path (last move first); returns how much that was."""
        room = self.capacity - self.load.get(path[0][1], 0)
        leaving = [self.placed[uops][port] for (uops, _), (_, port) in pairwise(path)]
        moved = min(amount, room, *leaving)
        for k, (uops, port) in enumerate(path):
            share = self.placed[uops]
            share[port] = share.get(port, 0) + moved
            if k + 1 < len(path):
                share[path[k + 1][1]] -= moved
        first = path[0][1]
        self.load[first] = self.load.get(first, 0) + moved
        return moved


@dataclass(frozen=True)
class Densest:
    """The busiest ports: `mass` work on `width` ports, `ports` the largest set with that ratio.

    `placed[mask][port]`: an optimal packing of all work, in units of 1/width.
    """

    mass: int
    width: int
    ports: int
    placed: Mapping[int, Mapping[int, int]]


def densest_ports(masses: Mapping[int, int]) -> Densest:
    """The port set with the largest ratio of bound work to ports.

    `masses`: port mask (not 0) -> amount of work (whole, > 0), not empty. Deterministic: work is packed in
    ascending order of masks.
    """
    order = sorted(masses)
    everywhere = 0
    for mask in order:
        everywhere |= mask
    ports = everywhere
    while True:
        mass = sum(masses[mask] for mask in order if mask & ~ports == 0)
        width = ports.bit_count()
        packing = Packing(capacity=mass)
        for mask in order:
            packing.add(mask, masses[mask] * width)
        if not packing.overfull:
            return Densest(mass, width, _without_slack(packing, everywhere), packing.placed)
        ports = packing.overfull


def _without_slack(packing: Packing, everywhere: int) -> int:
    """The ports that are full in every optimal packing: those that cannot push work to one with room."""
    slack = 0
    for port in ports_in(everywhere):
        if packing.load.get(port, 0) < packing.capacity:
            slack |= 1 << port
    grown = True
    while grown:
        grown = False
        for mask, share in packing.placed.items():
            if mask & slack:
                for port, amount in share.items():
                    if amount and not slack >> port & 1:
                        slack |= 1 << port
                        grown = True
    return everywhere & ~slack
