"""Bypasses: latencies that depend on the neighbouring instructions, read from chains of two schemes in turn.

1. Pairs of operands that take equally long with themselves and with every connector are a *class*.
2. Of the largest classes each has a representative; every two alternate in a chain. Its time beyond the least
   of both is their *excess*: the sum of both directions, since no chain shows one of them alone.
3. Classes with the same excess beside all others are one *kind*. A chain of any kinds then takes the least
   of its links and half of the excess of each two neighbours: that is exact where an excess is a sum of what
   the producer and what the consumer adds, whichever of them it is.
4. Representatives are also measured alone, among instructions without dependencies. Some cores forward a
   result earlier while nothing is queued: then the class has that latency, too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from inference.core.latency.reading import ChainReading, PairLatency, link_value, own_connectors
from inference.isa.chains import ChainLink, ChainMixer, DependencyChain

_MIN_EXCESS = 0.5
"""Cycles from which on an excess counts: latencies are whole cycles."""

_MAX_CLASSES = 24
"""Representatives: 300 chains of two, about a hundredth of all chains."""

_MIN_MEMBERS = 2
"""Pairs in a class: one that behaves like no other may be a bad reading."""

_FILLERS = (3, 7, 11, 15)
"""Instructions beside a single one: as many as cores of 4 to 16 slots dispatch with it per cycle."""

_READING_ERROR = 0.1
"""Cycles by which a reading may be too small."""


@dataclass(frozen=True, slots=True)
class Bypasses:
    """The bypasses of a core.

    Attributes:
        kinds: {link: number of its kind}.
        excess: Excess of two kinds in turn, in cycles, symmetric.
        alone: The latency of links among instructions without dependencies, where it is less.
        readings: Readings of representatives.
    """

    kinds: Mapping[ChainLink, int]
    excess: Sequence[Sequence[float]]
    alone: Mapping[ChainLink, float]
    readings: Mapping[ChainLink, Sequence[ChainReading]]


@dataclass(frozen=True, slots=True)
class LinkClass:
    """Pairs that behave alike.

    `chains`: of a single instruction each, of up to two of the pairs; the first represents the class.
    """

    members: Sequence[PairLatency]
    chains: Sequence[DependencyChain]


Signature = tuple[tuple[str, float], ...]
"""(connectors, cycles by which a chain closed by them exceeds that of the link with itself)."""


@dataclass(frozen=True, slots=True)
class BypassChains:
    """The chains that show bypasses.

    `signatures` of all links that have one.

    Attributes:
        mixed: {numbers of two classes: their chain}.
        spaced: {number of a class: its chains}.
    """

    signatures: Mapping[ChainLink, Signature]
    classes: Sequence[LinkClass]
    mixed: Mapping[tuple[int, int], DependencyChain]
    spaced: Mapping[int, Sequence[DependencyChain]]

    def chains(self) -> list[DependencyChain]:
        return [*self.mixed.values(), *(chain for chains in self.spaced.values() for chain in chains)]


def bypass_chains(
    pairs: Sequence[PairLatency], connectors: Mapping[ChainLink, float], mixer: ChainMixer
) -> BypassChains:
    """The chains that show the bypasses between pairs. `connectors`: their latencies."""
    signatures = {
        pair.link: signature for pair in pairs if (signature := _signature(pair, connectors)) is not None
    }
    classes = _classes([pair for pair in pairs if pair.link in signatures], signatures, mixer)
    mixed = {}
    # A class is mixed with itself, too: two of its members may have an excess beside each other.
    for (a, first), (b, second) in combinations(enumerate(classes), 2):
        if (chain := mixer.mixed(first.chains[0], second.chains[0])) is not None:
            mixed[a, b] = chain
    for number, members in enumerate(classes):
        if (chain := mixer.mixed(members.chains[0], members.chains[-1])) is not None:
            mixed[number, number] = chain
    spaced = {
        number: [
            chain for fillers in _FILLERS if (chain := mixer.spaced(members.chains[0], fillers)) is not None
        ]
        for number, members in enumerate(classes)
        if _least(members.members[0]) > 1 + _MIN_EXCESS
    }
    return BypassChains(signatures, classes, mixed, spaced)


def _classes(
    pairs: Sequence[PairLatency], signatures: Mapping[ChainLink, Signature], mixer: ChainMixer
) -> list[LinkClass]:
    """The largest classes that have a representative, the largest first."""
    alike: dict[tuple[int, Signature], list[PairLatency]] = defaultdict(list)
    for pair in pairs:
        alike[round(_least(pair)), signatures[pair.link]].append(pair)
    classes = []
    for members in sorted(alike.values(), key=len, reverse=True):
        direct = [(pair, chain) for pair in members if (chain := _direct(pair, mixer)) is not None]
        if len(members) < _MIN_MEMBERS or not direct:
            continue
        represented = [pair for pair, _ in direct]
        ordered = (*represented, *(pair for pair in members if pair not in represented))
        classes.append(LinkClass(ordered, [chain for _, chain in direct[:2]]))
    return classes[:_MAX_CLASSES]


def _least(pair: PairLatency) -> float:
    assert pair.least is not None, "pairs of a class are isolated"
    return pair.least


def _direct(pair: PairLatency, mixer: ChainMixer) -> DependencyChain | None:
    """The chain of the pair's instruction alone, if it can be mixed with others."""
    chains = (reading.chain for reading in pair.readings if reading.cycles is not None)
    direct = (chain for chain in chains if chain.links == (pair.link,))
    return next((chain for chain in direct if mixer.mixed(chain, chain) is not None), None)


def _signature(pair: PairLatency, connectors: Mapping[ChainLink, float]) -> Signature | None:
    """What closing a pair's chains by each connector adds, to half a cycle.

    None without a chain of the link with itself, and where values matter.
    """
    if pair.least is None or pair.least < _MIN_EXCESS or pair.by_values:
        return None
    values: dict[str, float] = {}
    for reading in sorted(pair.readings, key=lambda reading: len(reading.chain.links)):
        if (value := link_value(reading, connectors)) is not None:
            values[", ".join(sorted(map(str, set(own_connectors(reading.chain)))))] = value
    own_cycles = values.pop("", None)
    if own_cycles is None:
        return None
    return tuple((way, round(2 * (value - own_cycles)) / 2) for way, value in sorted(values.items()))


def read_bypasses(plan: BypassChains, readings: Mapping[DependencyChain, ChainReading]) -> Bypasses:
    """The bypasses that the readings show; none where no excess counts."""
    excess = dict(_excess(plan, readings))
    kinds = _kinds(len(plan.classes), excess)
    matrix = [[_between(kinds, a, b, excess) for b in range(len(kinds))] for a in range(len(kinds))]
    alone = dict(_alone(plan, readings))
    if not any(value for row in matrix for value in row):
        kinds, matrix = [], []
    return Bypasses(_kinds_of_links(plan, kinds), matrix, alone, _evidence(plan, readings))


def _kinds_of_links(plan: BypassChains, kinds: Sequence[Sequence[int]]) -> dict[ChainLink, int]:
    """Kinds of the members of classes, and of other links whose signature only classes of one kind have."""
    of_members = {
        pair.link: kind
        for kind, numbers in enumerate(kinds)
        for number in numbers
        for pair in plan.classes[number].members
    }
    by_signature: dict[Signature, set[int]] = defaultdict(set)
    for link, kind in of_members.items():
        by_signature[plan.signatures[link]].add(kind)
    by_likeness = {
        link: min(by_signature[signature])
        for link, signature in plan.signatures.items()
        if len(by_signature.get(signature, ())) == 1
    }
    return {**by_likeness, **of_members}


def is_excessive(plan: BypassChains, reading: ChainReading) -> bool:
    """Whether two in turn took longer than alone. That may be a disturbance, so they are measured again."""
    cycles = reading.cycles
    numbers = next((numbers for numbers, chain in plan.mixed.items() if chain == reading.chain), None)
    if numbers is None or cycles is None:
        return False
    return cycles - sum(_least(plan.classes[number].members[0]) for number in numbers) >= _MIN_EXCESS


def _excess(
    plan: BypassChains, readings: Mapping[DependencyChain, ChainReading]
) -> Iterator[tuple[tuple[int, int], float]]:
    """((class, class), excess in cycles), in both orders."""
    for (a, b), chain in plan.mixed.items():
        reading = readings.get(chain)
        if reading is None or reading.cycles is None:
            continue
        first, second = plan.classes[a], plan.classes[b]
        member = second.members[len(second.chains) - 1] if a == b else second.members[0]
        excess = reading.cycles - _least(first.members[0]) - _least(member)
        yield (a, b), excess
        yield (b, a), excess


def _kinds(classes: int, excess: Mapping[tuple[int, int], float]) -> list[list[int]]:
    """Classes with equal excess beside all classes that both were measured with."""
    kinds: list[list[int]] = []
    for number in range(classes):
        kind = next((kind for kind in kinds if _are_similar(number, kind[0], classes, excess)), None)
        if kind is None:
            kinds.append([number])
        else:
            kind.append(number)
    return kinds


def _are_similar(a: int, b: int, classes: int, excess: Mapping[tuple[int, int], float]) -> bool:
    common = [k for k in range(classes) if (a, k) in excess and (b, k) in excess]
    return bool(common) and all(abs(excess[a, k] - excess[b, k]) < _MIN_EXCESS for k in common)


def _between(
    kinds: Sequence[Sequence[int]], a: int, b: int, excess: Mapping[tuple[int, int], float]
) -> float:
    """The excess of two kinds, the median over their classes, in cycles; 0 below `_MIN_EXCESS`."""
    values = [excess[i, j] for i in kinds[a] for j in kinds[b] if (i, j) in excess]
    between = median(values) if values else 0.0
    return round(between, 2) if abs(between) >= _MIN_EXCESS else 0.0


def _alone(
    plan: BypassChains, readings: Mapping[DependencyChain, ChainReading]
) -> Iterator[tuple[ChainLink, float]]:
    """(link, latency among independent instructions) of classes that are quicker there."""
    for number, chains in plan.spaced.items():
        cycles = [
            reading.cycles
            for chain in chains
            if (reading := readings.get(chain)) and reading.cycles is not None
        ]
        queued = _least(plan.classes[number].members[0])
        if not cycles or min(cycles) > queued - _MIN_EXCESS:
            continue
        # Latencies are whole cycles: the fraction of a cycle is what the fillers take.
        saved = queued - math.floor(min(cycles) + _READING_ERROR)
        for pair in plan.classes[number].members:
            yield pair.link, max(_least(pair) - saved, 0.0)


def _evidence(
    plan: BypassChains, readings: Mapping[DependencyChain, ChainReading]
) -> dict[ChainLink, list[ChainReading]]:
    """The readings of each representative beside others and alone."""
    evidence: dict[ChainLink, list[ChainReading]] = defaultdict(list)
    for chain in plan.chains():
        if chain in readings:
            evidence[chain.links[0]].append(readings[chain])
    return dict(evidence)
