"""The division of a core into parts that share no port, each of which is searched by itself.

Two schemes that share a port take longer together than alone, unless a bottleneck beside the ports takes
longer still. So every two schemes of different domains are measured together, each as often as it can run in
the same time. Domains whose pairs take no longer have ports of their own as far as measurements can tell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence

from inference.core.cegar.alternatives import SettledMapping
from inference.core.cegar.problem import Alternative, Apart
from inference.core.cegar.search import CegarSearch
from inference.core.experiment import Experiment
from inference.core.identity.canonical import renumbered, side_by_side
from inference.core.mapping import PortMapping

Part = tuple[str, ...]
"""Schemes that may share ports with one another, sorted."""

_ERROR = 0.025  # share of a measured time that noise and the instructions of the loop may account for


class Division:
    """The parts of a core, at first its domains; parts are joined, and never divided again."""

    def __init__(self, search: CegarSearch) -> None:
        self._search = search
        self._domains = {scheme: search.problem.domains[scheme] for scheme in search.schemes}
        self._joined = {domain: {domain} for domain in self._domains.values()}

    @classmethod
    def suits(cls, search: CegarSearch) -> bool:
        """Whether every scheme has one µop and a domain, and pairs across domains can be measured."""
        problem, settings = search.problem, search.settings
        return (
            settings.apart
            and settings.ports is None
            and search.answers.offered is None
            and not problem.known
            and all(scheme in problem.domains and problem.count(scheme) == 1 for scheme in search.schemes)
            and len({problem.domains[scheme] for scheme in search.schemes}) > 1
        )

    def measure(self) -> None:
        """Measure pairs across domains, and join the domains that share ports."""
        search = self._search
        for crossing in self._cross_pairs():
            if search.can_measure(crossing):
                search.measure(crossing)
        excessive = [crossing for crossing in self._cross_pairs() if self._is_excessive(crossing)]
        search.readings.repeat(excessive)
        for crossing in excessive:
            if self._is_excessive(crossing):
                self.join(crossing.schemes)

    def join(self, schemes: Collection[str]) -> None:
        """Make one part of the parts that these schemes belong to."""
        joined = frozenset().union(*(self._joined[self._domains[scheme]] for scheme in schemes))
        for domain in joined:
            self._joined[domain] = set(joined)

    def join_hidden(self, mix: Experiment) -> bool:
        """Join the parts in a slow mix whose pairs cannot show a shared port; whether there were any.

        Where their pairs do show that no port is shared, the mix is slow because the core wastes time.
        """
        among = set(mix.schemes)
        hidden = [
            pair
            for pair in self._between_parts()
            if among.issuperset(pair.schemes) and not self._would_show(pair)
        ]
        for pair in hidden:
            self.join(pair.schemes)
        return bool(hidden)

    def is_slower(self, mix: Experiment) -> bool:
        """Whether a mix takes longer than its schemes of each single part do, which are measured for that.

        Otherwise its time shows waste within one part, and no port that parts share.
        """
        search = self._search
        parts = [
            Experiment.of({scheme: count for scheme, count in mix.terms if scheme in part})
            for part in self.parts
            if any(scheme in part for scheme in mix.schemes)
        ]
        for part in parts:
            if search.can_measure(part):
                search.measure(part)
        readings = search.readings
        cycles_of_parts = [readings.cycles(part) or 0.0 for part in parts]
        cycles_by_r_max = mix.length / (readings.r_max or mix.length)
        expected = max(*cycles_of_parts, cycles_by_r_max, readings.least_cycles(mix))
        return (readings.cycles(mix) or 0.0) > expected + search.settings.epsilon * mix.length

    @property
    def parts(self) -> list[Part]:
        """Schemes by part, sorted; without those that the search has dropped."""
        parts = {
            tuple(s for s in self._search.schemes if self._domains[s] in joined)
            for joined in self._joined.values()
        }
        return sorted(part for part in parts if part)

    @property
    def apart(self) -> Apart:
        """Pairs of domains in different parts."""
        pairs = itertools.combinations(sorted(self._joined), 2)
        return tuple((first, second) for first, second in pairs if second not in self._joined[first])

    @property
    def would_show_sharing(self) -> bool:
        """Whether the measured pairs would show any port that two parts share."""
        return all(map(self._would_show, self._between_parts()))

    def _would_show(self, crossing: Experiment) -> bool:
        """Whether the pair was measured, and neither R_max nor its code would hide a shared port."""
        readings = self._search.readings
        if readings.r_max is None or readings.cycles(crossing) is None:
            return False
        return self._shared_time(crossing, 1) > (1 + 2 * _ERROR) * self._separate_time(crossing)

    def _between_parts(self) -> Iterator[Experiment]:
        """The pairs whose schemes are in different parts."""
        for crossing in self._cross_pairs():
            first, second = (self._domains[scheme] for scheme in crossing.schemes)
            if second not in self._joined[first]:
                yield crossing

    def _cross_pairs(self) -> Iterator[Experiment]:
        """Two schemes of different domains each, repeated so that both alone need about the same time.

        Unequal times would hide a shared port: the shorter one fits where the longer one leaves ports idle.
        """
        for first, second in itertools.combinations(self._search.schemes, 2):
            if self._domains[first] != self._domains[second]:
                cycles = max(1.0, self._alone(first), self._alone(second))
                yield Experiment.of({s: max(1, round(cycles / self._alone(s))) for s in (first, second)})

    def _is_excessive(self, crossing: Experiment) -> bool:
        """Whether a pair takes as long as it would with the fewest shared ports that its time can show.

        That is one port where ports limit the pair, and more where R_max does. A pair that takes longer than
        with separate ports, but less than that, shows that the core wastes time.
        """
        readings = self._search.readings
        cycles = readings.cycles(crossing)
        if cycles is None:
            return False
        needed = self._separate_time(crossing)
        times = (self._shared_time(crossing, shared) for shared in range(1, self._ports(crossing)))
        visible_time = next((time for time in times if time > (1 + _ERROR) * needed), math.inf)
        return cycles > max((needed + visible_time) / 2, (1 - _ERROR) * visible_time)

    def _shared_time(self, crossing: Experiment, shared: int) -> float:
        """Cycles if two schemes share so many ports; infinite if that leaves them none."""
        ports = self._ports(crossing) - shared
        return crossing.length / ports if ports > 0 else math.inf

    def _ports(self, crossing: Experiment) -> int:
        """How many ports the two schemes have together if they share none, by their times alone."""
        return round(crossing.length / max(1.0, *map(self._alone, crossing.schemes)))

    def _separate_time(self, crossing: Experiment) -> float:
        """Cycles if the two share no port."""
        readings, length = self._search.readings, crossing.length
        longest = max(count * self._alone(scheme) for scheme, count in crossing.terms)
        return max(longest, length / (readings.r_max or length), readings.least_cycles(crossing))

    def _alone(self, scheme: str) -> float:
        return self._search.readings.cycles(Experiment.of([scheme])) or 1.0


def unite_parts(parts: Sequence[SettledMapping], r_max: float | None) -> SettledMapping:
    """One mapping of all parts, each on ports of its own; its alternatives differ in one part each."""
    mapping = side_by_side([part.mapping for part in parts], r_max)
    listed = []
    for k, part in enumerate(parts):
        for other in part.listed:
            mappings = [settled.mapping for settled in parts]
            mappings[k] = other.mapping
            listed.append(Alternative(side_by_side(mappings, r_max), other.differing, other.hidden))
    return SettledMapping(
        mapping,
        tuple(listed),
        more=any(part.more for part in parts),
        limit="; ".join(dict.fromkeys(part.limit for part in parts if part.limit)),
        reason="; ".join(dict.fromkeys(part.reason for part in parts if part.reason)),
    )


def restrict_mapping(mapping: PortMapping | None, schemes: Collection[str]) -> list[PortMapping]:
    """The mapping of some schemes, on the ports that they use, in a list; empty where it lacks a scheme."""
    if mapping is None or not mapping.usage.keys() >= set(schemes):
        return []
    usage = {scheme: mapping.usage[scheme] for scheme in sorted(schemes)}
    masks = [mask for uops in usage.values() for mask, _ in uops]
    used = [port for port in range(len(mapping.ports)) if any(mask >> port & 1 for mask in masks)]
    order = [used.index(port) if port in used else -1 for port in range(len(mapping.ports))]
    renamed = {scheme: renumbered(uops, order) for scheme, uops in usage.items()}
    return [PortMapping(tuple(map(str, range(len(used)))), renamed, mapping.r_max)]
