"""The renaming of ports that makes one mapping most similar to another: many schemes with equal µops, fast.

A set of schemes is an integer with one bit per scheme. A scheme's µops are equal under a matching of ports
only if the scheme uses every port equally in both mappings: with equally many µops of each width. For schemes
with one kind of µop that is sufficient; for the others the µops themselves are compared at the end.

The matching with the largest sum of gains is computed by the Hungarian algorithm with shortest augmenting
paths: n³ steps, exact, and deterministic. For the few dozen ports of a processor it takes less time than
loading a library for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from inference.core.identity.canonical import (
    can_swap,
    canonical_order,
    labelled_kinds,
    part_of,
    renumbered,
    same_up_to_renaming,
)
from inference.core.mapping import PortMapping, Uops, ports_in

MAX_PROOF_STEPS = 20_000
"""Partial matchings that a proof examines before it gives up: within about a second."""

_WORK_UNIT = 1e-6  # work is compared as whole numbers, so that the order of summation decides nothing


@dataclass(frozen=True)
class Renaming:
    """The port names of a mapping `a` for the ports of a mapping `b`.

    `ports[k]` is the index in `a` of the port with index k in `b`, None where `a` has fewer ports.

    Attributes:
        names: Of a's ports.
        exact: No other renaming gives more schemes equal µops.
    """

    ports: tuple[int | None, ...]
    names: tuple[str, ...]
    exact: bool

    def apply(self, b: PortMapping) -> PortMapping:
        """`b` with the port indices and names of `a`.

        Ports that `a` lacks get a prime where their name is in use.
        """
        names = list(self.names)
        for port, name in zip(self.ports, b.ports, strict=True):
            if port is None:
                names.append(_unused_name(name, names))
        extra = itertools.count(len(self.names))
        order = [next(extra) if port is None else port for port in self.ports]
        renumbered_uops = {uops: renumbered(uops, order) for uops in set(b.usage.values())}
        usage = {scheme: renumbered_uops[uops] for scheme, uops in b.usage.items()}
        return replace(b, ports=tuple(names), usage=usage)

    def inverse(self, names: Sequence[str]) -> Renaming:
        """The renaming of a's ports to those of `b`, whose ports have these names."""
        at = {port: k for k, port in enumerate(self.ports) if port is not None}
        return Renaming(tuple(at.get(port) for port in range(len(self.names))), tuple(names), self.exact)


def best_renaming(a: PortMapping, b: PortMapping) -> Renaming:
    """The renaming of b's ports under which most of the schemes that both describe have equal µops.

    When some renaming makes all of these schemes equal, such a one is returned, with `exact`. Otherwise the
    ports are matched by the work that both mappings put on them, improved by swaps and then by branch and
    bound; `exact` is then whether that proved that no renaming has more equal schemes (it gives up after
    `MAX_PROOF_STEPS` steps). Among renamings with equally many, one with much work on equal ports is
    preferred, which no single swap can improve. Deterministic.
    """
    common = sorted(a.usage.keys() & b.usage.keys())
    n = max(len(a.ports), len(b.ports))
    first, second = part_of(a, common, n), part_of(b, common, n)
    same_names = [
        sum(1 << p for p, name in enumerate(a.ports) if k < len(b.ports) and name == b.ports[k])
        for k in range(n)
    ]
    matching = Matching(first, second, common, same_names)
    if same_up_to_renaming(first, second):
        at = {position: port for port, position in enumerate(canonical_order(first))}
        matched, exact = matching.improved([at[position] for position in canonical_order(second)]), True
    else:
        matched, exact = matching.best()
    ports = tuple(port if port < len(a.ports) else None for port in matched[: len(b.ports)])
    return Renaming(ports, a.ports, exact)


def _unused_name(name: str, used: Sequence[str]) -> str:
    """The name with as many primes as make it differ from the used ones."""
    return _unused_name(name + "′", used) if name in used else name


Score = tuple[int, int, int]
"""Schemes with equal µops, work on matched ports, equal port names: larger is better, the first counts
most.
"""


class Matching:
    """Two mappings of the same schemes and with equally many ports.

    A matching lists, for each port of `second`, the port of `first` that it is. `same_names[k]`: mask of
    first's ports that have the name of second's port k.
    """

    def __init__(
        self, first: PortMapping, second: PortMapping, schemes: Sequence[str], same_names: Sequence[int]
    ) -> None:
        self.n_ports = len(first.ports)
        self.all_schemes = (1 << len(schemes)) - 1
        self.fits = _fits(first, second, schemes)
        self.labels = labelled_kinds(first)
        self._uops = [(first.usage[scheme], second.usage[scheme]) for scheme in schemes]
        self._multi_uop = sum(1 << k for k, (uops, _) in enumerate(self._uops) if len(uops) > 1)
        self._work = _common_work(first, second, schemes)
        self._same_names = same_names

    def agreeing(self, matched: Sequence[int], minimum: int = 0) -> int:
        """Bit set of the schemes with equal µops; of fewer than `minimum`, a superset."""
        agreeing = self.all_schemes
        for port, other in enumerate(matched):
            agreeing &= self.fits[port][other]
        if agreeing.bit_count() < minimum:
            return agreeing
        for scheme in ports_in(agreeing & self._multi_uop):
            uops, second = self._uops[scheme]
            if renumbered(second, matched) != uops:
                agreeing ^= 1 << scheme
        return agreeing

    def score(self, matched: Sequence[int], minimum: int = 0) -> Score:
        """The score of a matching; its number of schemes may be too high where that is below `minimum`."""
        return (
            self.agreeing(matched, minimum).bit_count(),
            sum(int(self._work[port, other]) for port, other in enumerate(matched)),
            sum(self._same_names[port] >> other & 1 for port, other in enumerate(matched)),
        )

    def best(self) -> tuple[list[int], bool]:
        """The best matching found, and whether it is proven that none has more schemes with equal µops."""
        fitting = [[fit.bit_count() for fit in row] for row in self.fits]
        starts = [best_partners(gain) for gain in (self._work.tolist(), fitting)]
        matched = max((self.improved(start) for start in starts), key=self.score)
        proof = _Proof(self, matched)
        return self.improved(proof.matched), proof.complete

    def improved(self, matched: Sequence[int]) -> list[int]:
        """The matching after the best swap of two ports, repeated until none improves the score."""
        best, score = list(matched), self.score(matched)
        while True:
            swaps = [_swap(best, i, j) for i, j in itertools.combinations(range(self.n_ports), 2)]
            scored = [(self.score(swap, score[0]), swap) for swap in swaps]
            candidate = max(scored, default=(score, best))
            if candidate[0] <= score:
                return best
            score, best = candidate


class _Proof:
    """Branch and bound for more agreeing schemes: second's ports get their partners one after another."""

    def __init__(self, matching: Matching, matched: list[int]) -> None:
        self.matched = matched
        self._matching = matching
        self._best_count = matching.agreeing(matched).bit_count()
        self._steps = 0
        # Ports that fit few partners come first: there the bound falls quickly.
        fitting = [sum(fit.bit_count() for fit in row) for row in matching.fits]
        self._ports = sorted(range(matching.n_ports), key=lambda port: fitting[port])
        self._descend({}, (1 << matching.n_ports) - 1, matching.all_schemes)

    @property
    def complete(self) -> bool:
        """Whether every matching was examined or ruled out."""
        return self._steps <= MAX_PROOF_STEPS

    def _descend(self, partners: dict[int, int], free: int, alive: int) -> None:
        self._steps += 1
        if not self.complete or self._bound(len(partners), free, alive) <= self._best_count:
            return
        if not free:
            self._record([partners[port] for port in range(self._matching.n_ports)])
            return
        port = self._ports[len(partners)]
        fits = self._matching.fits[port]
        tried: list[int] = []
        for other in sorted(ports_in(free), key=lambda other: -(alive & fits[other]).bit_count()):
            if not any(can_swap(self._matching.labels, other, like) for like in tried):
                tried.append(other)
                self._descend({**partners, port: other}, free ^ 1 << other, alive & fits[other])

    def _bound(self, done: int, free: int, alive: int) -> int:
        """An upper bound of the agreeing schemes: each needs a fitting free port for every remaining port."""
        for port in self._ports[done:]:
            fitting = 0
            for other in ports_in(free):
                fitting |= self._matching.fits[port][other]
            alive &= fitting
        return alive.bit_count()

    def _record(self, matched: list[int]) -> None:
        agreeing = self._matching.agreeing(matched).bit_count()
        if agreeing > self._best_count:
            self._best_count, self.matched = agreeing, matched


def _swap(matched: list[int], i: int, j: int) -> list[int]:
    swap = matched.copy()
    swap[i], swap[j] = matched[j], matched[i]
    return swap


def _fits(first: PortMapping, second: PortMapping, schemes: Sequence[str]) -> list[list[int]]:
    """Bit sets of schemes, [port of `second`][port of `first`]: those that use both ports equally."""
    numbers: dict[tuple[tuple[int, int], ...], int] = {(): 0}
    uses = []
    for mapping in (first, second):
        cached: dict[Uops, list[int]] = {}
        for scheme in schemes:
            uops = mapping.usage[scheme]
            if uops not in cached:
                cached[uops] = [
                    numbers.setdefault(signature, len(numbers))
                    for signature in _signatures(uops, len(mapping.ports))
                ]
        uses.append(np.array([cached[mapping.usage[scheme]] for scheme in schemes]).T)
    if not schemes:
        return [[0] * len(first.ports) for _ in second.ports]
    return [
        [
            int.from_bytes(np.packbits(theirs == ours, bitorder="little").tobytes(), "little")
            for ours in uses[0]
        ]
        for theirs in uses[1]
    ]


def _signatures(uops: Uops, n_ports: int) -> list[tuple[tuple[int, int], ...]]:
    """How a scheme uses each port: sorted (ports, count) of each of its µops that can use it."""
    uses: list[list[tuple[int, int]]] = [[] for _ in range(n_ports)]
    for mask, count in uops:
        for port in ports_in(mask):
            uses[port].append((mask.bit_count(), count))
    return [tuple(sorted(widths)) for widths in uses]


def _common_work(first: PortMapping, second: PortMapping, schemes: Sequence[str]) -> npt.NDArray[np.int64]:
    """The work of schemes that both mappings put on two ports, in `_WORK_UNIT`: int64[second's, first's]."""
    ours, theirs = (_shares(mapping, schemes) for mapping in (first, second))
    common = np.array([[np.minimum(our_counts, their).sum() for our_counts in ours] for their in theirs])
    return np.rint(common / _WORK_UNIT).astype(np.int64)


def _shares(mapping: PortMapping, schemes: Sequence[str]) -> npt.NDArray[np.float64]:
    """The share of each scheme's µops on each port, spread evenly: float64[ports, schemes]."""
    cached: dict[Uops, npt.NDArray[np.float64]] = {}
    shares = np.zeros((len(mapping.ports), len(schemes)))
    for k, scheme in enumerate(schemes):
        uops = mapping.usage[scheme]
        if uops not in cached:
            share = cached[uops] = np.zeros(len(mapping.ports))
            total = sum(count for _, count in uops)
            for mask, count in uops:
                share[list(ports_in(mask))] += count / (mask.bit_count() * total)
        shares[:, k] = cached[uops]
    return shares


def best_partners(gain: Sequence[Sequence[int]]) -> list[int]:
    """A column for each row, all different, with the greatest sum of `gain[row][column]`; `gain` is square.

    >>> best_partners([[1, 2], [2, 4]])
    [0, 1]
    """
    n = len(gain)
    # Prices on rows and columns: no gain exceeds the sum of both, and that of partners is equal to it.
    row_price = [max(row, default=0) for row in gain]
    column_price = [0] * n
    row_of: list[int | None] = [None] * n
    for row in range(n):
        _find_partner(row, gain, row_price, column_price, row_of)
    partners = [0] * n
    for column, row_there in enumerate(row_of):
        assert row_there is not None, "every row was given a column, and there are as many"
        partners[row_there] = column
    return partners


def _find_partner(
    row: int,
    gain: Sequence[Sequence[int]],
    row_price: list[int],
    column_price: list[int],
    row_of: list[int | None],
) -> None:
    """Give one more row a column; rows move along the path that costs least."""
    open_columns = set(range(len(gain)))
    lost = dict.fromkeys(open_columns, 0)  # by the best path to a column; once closed, for good
    before: dict[int, int | None] = dict.fromkeys(open_columns)  # the column that a path comes from
    closed: list[int] = []
    at: int = row
    came_from: int | None = None
    so_far = 0
    while True:
        for column in open_columns:
            loss = so_far + row_price[at] + column_price[column] - gain[at][column]
            if len(closed) == 0 or loss < lost[column]:
                lost[column], before[column] = loss, came_from
        nearest = min(open_columns, key=lambda column: (lost[column], column))
        open_columns.remove(nearest)
        so_far = lost[nearest]
        holder = row_of[nearest]
        if holder is None:
            break
        closed.append(nearest)
        at, came_from = holder, nearest
    row_price[row] -= so_far
    for column in closed:
        column_price[column] += so_far - lost[column]
        holder = row_of[column]
        assert holder is not None, "only a column with a row is passed through"
        row_price[holder] -= so_far - lost[column]
    free: int | None = nearest
    while free is not None:
        previous = before[free]
        row_of[free] = row if previous is None else row_of[previous]
        free = previous


@dataclass(frozen=True)
class StructuralAgreement:
    """The schemes of two mappings by whether their µops are equal, under one renaming; each tuple is sorted.

    `agreeing` and `differing`: schemes that both describe.
    """

    agreeing: tuple[str, ...]
    differing: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    renaming: Renaming

    @property
    def share(self) -> float | None:
        """Share of the common schemes that agree, 0 to 1; None where there are no common schemes."""
        common = len(self.agreeing) + len(self.differing)
        return len(self.agreeing) / common if common else None


def structural_agreement(a: PortMapping, b: PortMapping) -> StructuralAgreement:
    """Compare the µops of all schemes under the best renaming of ports, see `best_renaming`."""
    renaming = best_renaming(a, b)
    renamed = renaming.apply(b).usage
    common = sorted(a.usage.keys() & b.usage.keys())
    return StructuralAgreement(
        agreeing=tuple(scheme for scheme in common if a.usage[scheme] == renamed[scheme]),
        differing=tuple(scheme for scheme in common if a.usage[scheme] != renamed[scheme]),
        only_first=tuple(sorted(a.usage.keys() - b.usage.keys())),
        only_second=tuple(sorted(b.usage.keys() - a.usage.keys())),
        renaming=renaming,
    )
