"""Inverse throughput of an experiment under a port mapping, without a linear program (thesis §5.1.4).

`tp⁻¹(e)` is the optimum of the LP of Theorem 3.12: the largest ratio of work to ports, `max over Q of
mass{u : ports(u) ⊆ Q} / |Q|` (Thm 5.2). Of few kinds of µops the closed form is enumerated; of many, maximum
flow finds it, in polynomial time, and packs the work on the way. Compiled kernels use the closed form over
ports. All are exact, and since the quotient of two whole numbers is rounded only once, every way of
computing it in this package gives the same float.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.mapping import MAX_PORTS, PortMapping, check_ports, ports_in, unions_of

EXACT_LIMIT = 1 << 53
"""Smallest amount of work that a float64 need not hold exactly."""

_FEW_KINDS = 10  # port sets up to which their unions, at most 2^10, are enumerated


def work_of(mapping: PortMapping, experiment: Experiment) -> dict[int, int]:
    """{port mask: µops} that one execution of the experiment executes.

    Raises:
        UnknownSchemeError: For schemes without a port usage in the mapping.
    """
    unknown = [scheme for scheme in experiment.schemes if scheme not in mapping.usage]
    if unknown:
        raise UnknownSchemeError(unknown)
    work: dict[int, int] = {}
    for scheme, repeats in experiment.terms:
        for mask, count in mapping.usage[scheme]:
            work[mask] = work.get(mask, 0) + count * repeats
    return work


def inverse_throughput(mapping: PortMapping, experiment: Experiment) -> float:
    """Cycles per execution of the experiment: `max(tp⁻¹, |e| / R_max, slots / issue width)`.

    Args:
        mapping: Limits that it does not have are left out.
        experiment: Schemes with multiplicities; its instructions are independent.

    Returns:
        Cycles ≥ 0, per execution of the whole experiment; 0.0 where no limit applies and no µop
            needs a port.

    Raises:
        UnknownSchemeError: For schemes that the mapping does not describe.

    >>> mapping = PortMapping(("0", "1"), {"add": ((0b11, 1),), "mul": ((0b01, 1),)})
    >>> inverse_throughput(mapping, Experiment.of({"add": 1, "mul": 2}))
    2.0
    """
    return max(port_bound(work_of(mapping, experiment)), issue_bound(mapping, experiment))


def issue_bound(mapping: PortMapping, experiment: Experiment) -> float:
    """Cycles that the limits on instructions and issue slots alone require; 0.0 without such limits."""
    cycles = 0.0
    if mapping.r_max is not None:
        cycles = experiment.length / mapping.r_max
    if mapping.issue_width is not None:
        cycles = max(cycles, slots_in(mapping, experiment) / mapping.issue_width)
    return cycles


def slots_in(mapping: PortMapping, experiment: Experiment) -> int:
    return sum(count * mapping.slots_of(scheme) for scheme, count in experiment.terms)


def port_bound(masses: Mapping[int, int]) -> float:
    """`tp⁻¹` in cycles for {port mask: µops}: enumerated for few kinds of µops, by maximum flow for many."""
    check_work(masses)
    work = {mask: mass for mask, mass in masses.items() if mass}
    if not work:
        return 0.0
    if len(work) <= _FEW_KINDS:
        return union_bound(work)
    densest = densest_ports(work)
    return densest.mass / densest.width


def union_bound(masses: Mapping[int, int]) -> float:
    """`max over T ⊆ supp of mass(T) / |⋃ ports(T)|`: only unions of occurring port sets can be the maximiser.

    `masses`: {port mask: µops} on up to 63 ports. Time grows with the number of different unions, at most
    2^len(masses). Unions of pairs alone, as in Facile, would not suffice (thesis App. E.2).
    """
    check_work(masses)
    return max(
        (
            sum(mass for mask, mass in masses.items() if mask & ~union == 0) / union.bit_count()
            for union in unions_of(masses)
            if union
        ),
        default=0.0,
    )


def check_work(masses: Mapping[int, int], n_ports: int = MAX_PORTS) -> None:
    """Raise `InvalidInputError`, naming the culprit, if this is not {port mask: µops} on `n_ports` ports."""
    check_ports(n_ports)
    for mask, mass in masses.items():
        if isinstance(mask, bool) or not isinstance(mask, int) or not 0 < mask < 1 << MAX_PORTS:
            raise InvalidInputError(f"a µop needs a port set of 1 to {MAX_PORTS} ports, not mask {mask!r}")
        if mask >> n_ports:
            raise InvalidInputError(f"port set {mask:#x} names a port beyond the {n_ports} there are")
        if isinstance(mass, bool) or not isinstance(mass, int) or mass < 0:
            raise InvalidInputError(
                f"the number of µops on port set {mask:#x} must be whole and ≥ 0, not {mass!r}"
            )
    if sum(masses.values()) >= EXACT_LIMIT:
        raise InvalidInputError("an experiment may execute fewer than 2^53 µops")


class Packing:
    """Work packed into ports of equal capacity by augmenting paths.

    Amounts are whole numbers in a unit that the caller chooses. `on[port][mask]` > 0 is the amount of the
    µops `mask` on `port`; `load[port]` is their sum; `full` is the mask of ports without room; `overfull` is
    the union of the port sets that could not take all their work.
    """

    def __init__(self, capacity: int, ports: int) -> None:
        self.capacity = capacity
        self.on: dict[int, dict[int, int]] = {port: {} for port in ports_in(ports)}
        self.load = dict.fromkeys(self.on, 0)
        self.full = 0
        self.overfull = 0
        self._moves = dict.fromkeys(self.on, 0)

    def add(self, mask: int, amount: int) -> None:
        """Pack `amount` of the µops `mask`, moving others where that makes room.

        Ports of µops for which there is no room, with all ports to which work could move, become `overfull`:
        these ports are a bottleneck at this capacity.
        """
        while amount:
            path, reached = self._path_to_room(mask, closed=0)
            if not path:
                self.overfull |= reached
                return
            amount -= self._shift(mask, path, amount)

    def relieve(self, port: int) -> int:
        """Move as much as possible from `port` to other ports; returns the load that has to stay."""
        for mask, amount in sorted(self.on[port].items()):
            remaining = amount
            while remaining:
                path, _ = self._path_to_room(mask, closed=1 << port)
                if not path:
                    break
                moved = self._shift(mask, path, remaining)
                self._remove_work(mask, port, moved)
                remaining -= moved
        return self.load[port]

    def moves(self, port: int) -> int:
        """Mask of the ports, `port` included, on which its work could run; 0 while it has none."""
        return self._moves[port]

    def _path_to_room(self, start: int, closed: int) -> tuple[list[int], int]:
        """A shortest chain of ports from the µops `start` to a port with room, and all ports reached.

        Work on each port of the chain can move to the next one: breadth-first search over such moves. Ports
        of `closed` are not entered. The chain is empty where no port has room.
        """
        came_from: dict[int, int | None] = {}
        reached = closed
        queue: list[int | None] = [None]
        for source in queue:
            entered = (start if source is None else self._moves[source]) & ~reached
            room = entered & ~self.full
            if room:
                return self._chain(came_from, source, next(ports_in(room))), reached
            reached |= entered
            for port in ports_in(entered):
                came_from[port] = source
                queue.append(port)
        return [], reached & ~closed

    @staticmethod
    def _chain(came_from: Mapping[int, int | None], node: int | None, last: int) -> list[int]:
        """The ports from the first to `last`, which was entered from `node`."""
        path = [last]
        while node is not None:
            path.append(node)
            node = came_from[node]
        return path[::-1]

    def _shift(self, mask: int, path: list[int], amount: int) -> int:
        """Put up to `amount` of `mask` on the first port, pushing work along the path; returns how much.

        On a shortest path no µop moves twice, so the moves do not conflict. The last move is made first: no
        port ever exceeds its capacity.
        """
        pushed = [(self._carrier(port, to), port, to) for port, to in pairwise(path)]
        room = self.capacity - self.load[path[-1]]
        moved = min(amount, room, *(self.on[port][uops] for uops, port, _ in pushed))
        for uops, port, to in reversed(pushed):
            self._remove_work(uops, port, moved)
            self._add_work(uops, to, moved)
        self._add_work(mask, path[0], moved)
        return moved

    def _carrier(self, port: int, to: int) -> int:
        """The µops of which most can move from one port to the other."""
        able = (mask for mask in self.on[port] if mask >> to & 1)
        return max(able, key=lambda mask: (self.on[port][mask], -mask))

    def _add_work(self, mask: int, port: int, amount: int) -> None:
        self.on[port][mask] = self.on[port].get(mask, 0) + amount
        self.load[port] += amount
        self._moves[port] |= mask
        if self.load[port] == self.capacity:
            self.full |= 1 << port

    def _remove_work(self, mask: int, port: int, amount: int) -> None:
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
    """The busiest ports: `mass` work on `width` ports; `ports` is the largest set with that ratio.

    `packing`: all work, packed within the optimal time, in units of 1/width.
    """

    mass: int
    width: int
    ports: int
    packing: Packing


def densest_ports(masses: Mapping[int, int]) -> Densest:
    """The port set with the largest ratio of bound work to ports.

    Deterministic: work is packed in ascending order of masks.

    Args:
        masses: {port mask > 0: amount of work > 0}, not empty.

    Raises:
        InvalidInputError: For masses that contradict this.
    """
    wrong = [f"{mass!r} on {mask!r}" for mask, mass in masses.items() if not (mask > 0 and mass > 0)]
    if wrong or not masses:
        raise InvalidInputError(f"only work on ports has densest ports, not {', '.join(wrong) or 'none'}")
    all_ports = union(masses)
    ports = all_ports
    # Capacity per port is the ratio of the current set, in units of 1/width. Where work does not fit, the
    # overfull ports have a larger ratio and are tried next; the ratio rises each time, so this ends.
    while True:
        mass = sum(amount for mask, amount in masses.items() if mask & ~ports == 0)
        width = ports.bit_count()
        packing = pack(masses, capacity=mass, unit=width)
        if not packing.overfull:
            return Densest(mass, width, _without_slack(packing, all_ports), packing)
        ports = packing.overfull


def pack(masses: Mapping[int, int], *, capacity: int, unit: int) -> Packing:
    """As much of the work as fits into ports of this capacity, in ascending order of masks.

    Args:
        masses: {port mask: µops}.
        capacity: Capacity of each port, in the unit that the caller chooses.
        unit: Amount of work of one µop, in the same unit.
    """
    packing = Packing(capacity, union(masses))
    for mask in sorted(masses):
        packing.add(mask, masses[mask] * unit)
    return packing


def union(masks: Iterable[int]) -> int:
    ports = 0
    for mask in masks:
        ports |= mask
    return ports


def _without_slack(packing: Packing, all_ports: int) -> int:
    """The ports that are full in every optimal packing: those that cannot push work to a port with room."""
    slack = all_ports & ~packing.full
    has_grown = True
    while has_grown:
        pushing = [port for port in ports_in(all_ports & ~slack) if packing.moves(port) & slack]
        slack |= sum(1 << port for port in pushing)
        has_grown = bool(pushing)
    return all_ports & ~slack


def natural_width(time: float) -> int:
    """The number of ports of a single µop that has this inverse throughput in cycles; 1 from one cycle on."""
    return max(1, round(1 / time)) if time < 1 else 1
