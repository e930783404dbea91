"""Which port of one mapping plays the part of which port of another: many schemes with equal µops, fast.

A set of schemes is a whole number with one bit per scheme. A scheme's µops are equal under a matching of
ports only if every port is used alike by it in both mappings: by as many µops of each width. For schemes with
one kind of µop that is enough; for the others the µops themselves are compared at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from inference.core.identity.assignment import best_partners
from inference.core.identity.canonical import can_swap, labelled_kinds
from inference.core.identity.renumbering import renumbered
from inference.core.mapping import PortMapping, Uops, ports_in

MOST_STEPS = 20_000
"""Partial matchings that a proof looks at before it gives up: within a second or so."""

_WORK_UNIT = 1e-6  # work is compared as whole numbers, so that the order of summation decides nothing

Score = tuple[int, int, int]
"""What a good matching has much of: schemes with equal µops, work on matched ports, equal port names."""


class Matching:
    """Two mappings of the same schemes and with equally many ports.

    A matching lists, for each port of `second`, the port of `first` that it is. `alike[k]` is the mask of
    first's ports that have the name of second's port k.
    """

    def __init__(
        self, first: PortMapping, second: PortMapping, schemes: Sequence[str], alike: Sequence[int]
    ) -> None:
        self.n_ports = len(first.ports)
        self.everything = (1 << len(schemes)) - 1
        self.fits = _fits(first, second, schemes)
        self.labels = labelled_kinds(first)
        self._uops = [(first.usage[scheme], second.usage[scheme]) for scheme in schemes]
        self._several = sum(1 << k for k, (uops, _) in enumerate(self._uops) if len(uops) > 1)
        self._work = _common_work(first, second, schemes)
        self._alike = alike

    def agreeing(self, matched: Sequence[int], least: int = 0) -> int:
        """The schemes with equal µops; where they are fewer than `least`, possibly some more than these."""
        agreeing = self.everything
        for port, other in enumerate(matched):
            agreeing &= self.fits[port][other]
        if agreeing.bit_count() < least:
            return agreeing
        for scheme in ports_in(agreeing & self._several):
            uops, others = self._uops[scheme]
            if renumbered(others, matched) != uops:
                agreeing ^= 1 << scheme
        return agreeing

    def score(self, matched: Sequence[int], least: int = 0) -> Score:
        """See `Score`; its number of schemes may be too high where that is below `least`."""
        return (
            self.agreeing(matched, least).bit_count(),
            sum(int(self._work[port, other]) for port, other in enumerate(matched)),
            sum(self._alike[port] >> other & 1 for port, other in enumerate(matched)),
        )

    def best(self) -> tuple[list[int], bool]:
        """The best matching found, and whether it is proven that none has more schemes with equal µops."""
        fitting = [[fit.bit_count() for fit in row] for row in self.fits]
        starts = [best_partners(gain) for gain in (self._work.tolist(), fitting)]
        matched = max((self.improved(start) for start in starts), key=self.score)
        proof = _Proof(self, matched)
        return self.improved(proof.matched), proof.complete

    def improved(self, matched: Sequence[int]) -> list[int]:
        """The matching after the best swap of two ports, again and again until no swap improves the score."""
        best, score = list(matched), self.score(matched)
        while True:
            swaps = [_swapped(best, i, j) for i, j in itertools.combinations(range(self.n_ports), 2)]
            scored = [(self.score(swap, score[0]), swap) for swap in swaps]
            found = max(scored, default=(score, best))
            if found[0] <= score:
                return best
            score, best = found


class _Proof:
    """Branch and bound for more agreeing schemes: second's ports get their partners one by one."""

    def __init__(self, matching: Matching, matched: list[int]) -> None:
        self.matched = matched
        self._matching = matching
        self._most = matching.agreeing(matched).bit_count()
        self._steps = 0
        # Ports that fit few partners come first: there the bound falls quickly.
        fitting = [sum(fit.bit_count() for fit in row) for row in matching.fits]
        self._ports = sorted(range(matching.n_ports), key=lambda port: fitting[port])
        self._descend({}, (1 << matching.n_ports) - 1, matching.everything)

    @property
    def complete(self) -> bool:
        """Whether every matching was looked at or ruled out."""
        return self._steps <= MOST_STEPS

    def _descend(self, partners: dict[int, int], free: int, alive: int) -> None:
        self._steps += 1
        if not self.complete or self._bound(len(partners), free, alive) <= self._most:
            return
        if not free:
            self._ended([partners[port] for port in range(self._matching.n_ports)])
            return
        port = self._ports[len(partners)]
        fits = self._matching.fits[port]
        tried: list[int] = []
        for other in sorted(ports_in(free), key=lambda other: -(alive & fits[other]).bit_count()):
            if not any(can_swap(self._matching.labels, other, like) for like in tried):
                tried.append(other)
                self._descend({**partners, port: other}, free ^ 1 << other, alive & fits[other])

    def _bound(self, done: int, free: int, alive: int) -> int:
        """At most so many schemes agree: each needs, for every port that is left, a free one that fits."""
        for port in self._ports[done:]:
            fitting = 0
            for other in ports_in(free):
                fitting |= self._matching.fits[port][other]
            alive &= fitting
        return alive.bit_count()

    def _ended(self, matched: list[int]) -> None:
        agreeing = self._matching.agreeing(matched).bit_count()
        if agreeing > self._most:
            self._most, self.matched = agreeing, matched


def _swapped(matched: list[int], i: int, j: int) -> list[int]:
    swap = matched.copy()
    swap[i], swap[j] = matched[j], matched[i]
    return swap


def _fits(first: PortMapping, second: PortMapping, schemes: Sequence[str]) -> list[list[int]]:
    """For each port of `second` and each of `first` the schemes that use both alike."""
    numbers: dict[tuple[tuple[int, int], ...], int] = {(): 0}
    uses = []
    for mapping in (first, second):
        known: dict[Uops, list[int]] = {}
        for scheme in schemes:
            uops = mapping.usage[scheme]
            if uops not in known:
                known[uops] = [
                    numbers.setdefault(signature, len(numbers))
                    for signature in _signatures(uops, len(mapping.ports))
                ]
        uses.append(np.array([known[mapping.usage[scheme]] for scheme in schemes]).T)
    if not schemes:
        return [[0] * len(first.ports) for _ in second.ports]
    return [
        [
            int.from_bytes(np.packbits(others == ours, bitorder="little").tobytes(), "little")
            for ours in uses[0]
        ]
        for others in uses[1]
    ]


def _signatures(uops: Uops, n_ports: int) -> list[tuple[tuple[int, int], ...]]:
    """How a scheme uses each port: (ports, count) of each of its µops that can use it, sorted."""
    seen: list[list[tuple[int, int]]] = [[] for _ in range(n_ports)]
    for mask, count in uops:
        for port in ports_in(mask):
            seen[port].append((mask.bit_count(), count))
    return [tuple(sorted(widths)) for widths in seen]


def _common_work(first: PortMapping, second: PortMapping, schemes: Sequence[str]) -> npt.NDArray[np.int64]:
    """The shares of their work that schemes put on both of two ports: int64[second's, first's]."""
    ours, others = (_shares(mapping, schemes) for mapping in (first, second))
    common = np.array([[np.minimum(one, other).sum() for one in ours] for other in others])
    return np.rint(common / _WORK_UNIT).astype(np.int64)


def _shares(mapping: PortMapping, schemes: Sequence[str]) -> npt.NDArray[np.float64]:
    """The share of each scheme's µops on each port, spread evenly: float64[ports, schemes]."""
    known: dict[Uops, npt.NDArray[np.float64]] = {}
    shares = np.zeros((len(mapping.ports), len(schemes)))
    for k, scheme in enumerate(schemes):
        uops = mapping.usage[scheme]
        if uops not in known:
            share = known[uops] = np.zeros(len(mapping.ports))
            total = sum(count for _, count in uops)
            for mask, count in uops:
                share[list(ports_in(mask))] += count / (mask.bit_count() * total)
        shares[:, k] = known[uops]
    return shares
