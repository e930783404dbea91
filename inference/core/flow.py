"""Packing work into ports by maximum flow: exact, and polynomial where enumeration would explode.

`tp⁻¹` is the largest ratio of work to ports, `max over Q of mass{u : ports(u) ⊆ Q} / |Q|` (thesis Thm 5.2).
Dinkelbach's iteration finds it: guess a ratio, try to fit the work into ports of that capacity, and where
it does not fit take the ratio of the port set that overflowed. All numbers are whole, so nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from inference.core.errors import InvalidInputError
from inference.core.mapping import ports_in


class Packing:
    """Work packed into ports of equal capacity by augmenting paths.

    Amounts are whole numbers in a unit that the caller chooses. `on[port][mask]` > 0 is the amount of the
    µops `mask` on `port`; `load[port]` their sum; `full` are the ports without room; `overfull` is the union
    of the port sets that could not take all their work.
    """

    def __init__(self, capacity: int, everywhere: int) -> None:
        self.capacity = capacity
        self.on: dict[int, dict[int, int]] = {port: {} for port in ports_in(everywhere)}
        self.load = dict.fromkeys(self.on, 0)
        self.full = 0
        self.overfull = 0
        self._moves = dict.fromkeys(self.on, 0)

    def add(self, mask: int, amount: int) -> None:
        """Pack `amount` of the µops `mask`, moving others where that makes room; the rest overflows."""
        while amount:
            path, reached = self._path_to_room(mask, closed=0)
            if not path:
                self.overfull |= reached
                return
            amount -= self._shift(mask, path, amount)

    def relieve(self, port: int) -> int:
        """Move off `port` whatever the other ports can take; returns the load that has to stay."""
        for mask, amount in sorted(self.on[port].items()):
            left = amount
            while left:
                path, _ = self._path_to_room(mask, closed=1 << port)
                if not path:
                    break
                moved = self._shift(mask, path, left)
                self._take(mask, port, moved)
                left -= moved
        return self.load[port]

    def moves(self, port: int) -> int:
        """The ports on which the work of `port` could run as well, itself included; 0 while it is empty."""
        return self._moves[port]

    def _path_to_room(self, start: int, closed: int) -> tuple[list[int], int]:
        """A shortest chain of ports that leads from the µops `start` to a port with room, and all ports seen.

        Work on each port of the chain can move to the next one. No port of `closed` is entered.
        """
        came_from: dict[int, int | None] = {}
        reached = closed
        queue: list[int | None] = [None]
        for left in queue:
            entered = (start if left is None else self._moves[left]) & ~reached
            room = entered & ~self.full
            if room:
                return self._chain(came_from, left, next(ports_in(room))), reached
            reached |= entered
            for port in ports_in(entered):
                came_from[port] = left
                queue.append(port)
        return [], reached & ~closed

    @staticmethod
    def _chain(came_from: Mapping[int, int | None], left: int | None, last: int) -> list[int]:
        path = [last]
        while left is not None:
            path.append(left)
            left = came_from[left]
        return path[::-1]

    def _shift(self, mask: int, path: list[int], amount: int) -> int:
        """Put up to `amount` of `mask` on the first port, pushing work along the path; returns how much.

        On a shortest path no µop moves twice, so the moves do not get into each other's way. The last comes
        first: no port ever holds more than its capacity.
        """
        pushed = [(self._carrier(port, to), port, to) for port, to in pairwise(path)]
        room = self.capacity - self.load[path[-1]]
        moved = min(amount, room, *(self.on[port][uops] for uops, port, _ in pushed))
        for uops, port, to in reversed(pushed):
            self._take(uops, port, moved)
            self._put(uops, to, moved)
        self._put(mask, path[0], moved)
        return moved

    def _carrier(self, port: int, to: int) -> int:
        """The µops of which most can move from one port to the other."""
        able = (mask for mask in self.on[port] if mask >> to & 1)
        return max(able, key=lambda mask: (self.on[port][mask], -mask))

    def _put(self, mask: int, port: int, amount: int) -> None:
        self.on[port][mask] = self.on[port].get(mask, 0) + amount
        self.load[port] += amount
        self._moves[port] |= mask
        if self.load[port] == self.capacity:
            self.full |= 1 << port

    def _take(self, mask: int, port: int, amount: int) -> None:
        self.load[port] -= amount
        self.full &= ~(1 << port)
        self.on[port][mask] -= amount
        if not self.on[port][mask]:
            del self.on[port][mask]
            self._moves[port] = 0
            for other in self.on[port]:
                self._moves[port] |= other


@dataclass(frozen=True)
class Densest:
    """The busiest ports: `mass` work on `width` ports, `ports` the largest set with that ratio.

    `packing`: all work, packed within the optimal time, in units of 1/width.
    """

    mass: int
    width: int
    ports: int
    packing: Packing


def densest_ports(masses: Mapping[int, int]) -> Densest:
    """The port set with the largest ratio of bound work to ports.

    `masses`: port mask (not 0) -> amount of work (whole, > 0), not empty, otherwise `InvalidInputError`.
    Deterministic: work is packed in ascending order of masks.
    """
    wrong = [f"{mass!r} on {mask!r}" for mask, mass in masses.items() if not (mask > 0 and mass > 0)]
    if wrong or not masses:
        raise InvalidInputError(f"only work on ports has densest ports, not {', '.join(wrong) or 'none'}")
    everywhere = union(masses)
    ports = everywhere
    while True:
        mass = sum(amount for mask, amount in masses.items() if mask & ~ports == 0)
        width = ports.bit_count()
        packing = packed(masses, capacity=mass, unit=width)
        if not packing.overfull:
            return Densest(mass, width, _without_slack(packing, everywhere), packing)
        ports = packing.overfull


def packed(masses: Mapping[int, int], *, capacity: int, unit: int) -> Packing:
    """As much of the work as fits, `unit` for each µop, in ascending order of masks."""
    packing = Packing(capacity, union(masses))
    for mask in sorted(masses):
        packing.add(mask, masses[mask] * unit)
    return packing


def union(masks: Iterable[int]) -> int:
    """The ports of all of the sets."""
    everywhere = 0
    for mask in masks:
        everywhere |= mask
    return everywhere


def _without_slack(packing: Packing, everywhere: int) -> int:
    """The ports that are full in every optimal packing: those that cannot push work to one with room."""
    slack = everywhere & ~packing.full
    grown = True
    while grown:
        pushing = [port for port in ports_in(everywhere & ~slack) if packing.moves(port) & slack]
        slack |= sum(1 << port for port in pushing)
        grown = bool(pushing)
    return everywhere & ~slack
