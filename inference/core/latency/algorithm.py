"""Infers latencies: connectors first, then every pair of operands by chains that these close.

The chains of all pairs are measured in one go, the connectors' first; then once or twice more those that no
other chain of their pair confirms. Of idioms only the chains that can rule them out are measured at once. The
latencies are then computed from the readings.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol

from inference.core.latency.bypasses import (
    BypassChains,
    Bypasses,
    bypass_chains,
    is_excessive,
    read_bypasses,
)
from inference.core.latency.idioms import Idiom, IdiomReader
from inference.core.latency.memory import MemoryLatency, read_memory
from inference.core.latency.reading import ChainReading, PairLatency, read_pair, unconfirmed
from inference.isa.chains import ChainLink, ChainMixer, DependencyChain, IdiomChains, MemoryChain, PairChains


class ChainMeasurer(Protocol):
    """Measures the cycles per turn of chains."""

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        """A reading of each chain, in any order; another `repeat` gives independent readings."""
        ...


@dataclass(frozen=True)
class LatencyProblem:
    """What is measured: `pairs` of operands by `connectors`, `idioms`, and latencies of `memory`.

    Attributes:
        additions: Ordinary instructions without dependencies, with which idioms are compared.
        mixer: Makes the chains that show bypasses, None for none.
    """

    pairs: Sequence[PairChains]
    connectors: Sequence[PairChains]
    idioms: Sequence[IdiomChains] = ()
    additions: DependencyChain | None = None
    memory: Sequence[MemoryChain] = ()
    mixer: ChainMixer | None = None

    def chains(self) -> list[DependencyChain]:
        """All chains, each code once."""
        return _distinct([*self.first_chains(), *(c for choice in self.idioms for c in choice.pair.chains)])

    def first_chains(self) -> list[DependencyChain]:
        """The chains that are measured in any case, each code once."""
        chains = [chain for pair in (*self.connectors, *self.pairs) for chain in pair.chains]
        chains += [chain for choice in self.idioms for chain in (choice.pair.chains[0], choice.independent)]
        chains += [] if self.additions is None else [self.additions]
        chains += [choice.chain for choice in self.memory]
        return _distinct(chains)


@dataclass(frozen=True)
class LatencyResult:
    """The latencies of the problem's `pairs`, in their order, and of the `connectors` that close chains."""

    pairs: tuple[PairLatency, ...]
    connectors: Mapping[ChainLink, float]
    idioms: tuple[Idiom, ...] = ()
    memory: tuple[MemoryLatency, ...] = ()
    readings: tuple[ChainReading, ...] = ()
    """One of every code: everything that the result is derived from."""

    @property
    def isolated(self) -> int:
        """Number of pairs whose own latency is known."""
        return sum(pair.is_isolated for pair in self.pairs)

    @property
    def bounded(self) -> int:
        """Number of pairs of which only a bound is known."""
        return sum(pair.at_most is not None for pair in self.pairs)


MAX_ATTEMPTS = 3
"""Largest number of measurements of one chain."""


def infer_latencies(
    problem: LatencyProblem,
    measurer: ChainMeasurer,
    report: Callable[[ChainReading, int, int], None] = lambda reading, done, total: None,
) -> LatencyResult:
    """Measure chains, each up to `MAX_ATTEMPTS` times until it is confirmed, and compute latencies.

    Args:
        problem: What is measured.
        measurer: Measures the chains.
        report: Called with every reading, the number of readings so far, and their total as far as it is
            known.
    """
    readings = _MeasuredReadings(measurer, report)
    chains = problem.first_chains()
    for attempt in range(MAX_ATTEMPTS):
        readings.measure(chains, attempt)
        connectors = _connector_latencies(problem.connectors, readings)
        chains = _unsettled_chains(problem, readings, connectors)
        if not chains:
            break
    pairs = tuple(read_pair(pair, readings.of(pair.chains), connectors) for pair in problem.pairs)
    beside: list[DependencyChain] = []
    if problem.mixer is not None:
        plan = bypass_chains(pairs, connectors, problem.mixer)
        beside = _distinct(plan.chains())
        _measure_bypasses(plan, beside, readings)
        measured = {reading.chain: reading for reading in readings.of(beside)}
        pairs = tuple(_with_bypasses(pairs, read_bypasses(plan, measured)))
    memory = {reading.chain: reading for reading in readings.of(probe.chain for probe in problem.memory)}
    return LatencyResult(
        pairs,
        connectors,
        tuple(_idioms(problem, pairs, readings, connectors)),
        read_memory(problem.memory, memory, connectors),
        tuple(readings.of(_distinct([*problem.chains(), *beside]))),
    )


def _measure_bypasses(plan: BypassChains, chains: list[DependencyChain], readings: _MeasuredReadings) -> None:
    """Measure these chains, and again those with an excess until two readings agree."""
    remaining = chains
    for attempt in range(MAX_ATTEMPTS):
        readings.measure(remaining, attempt)
        excessive = (reading.chain for reading in readings.of(chains) if is_excessive(plan, reading))
        remaining = [chain for chain in excessive if not readings.is_sure(_code(chain))]
        if not remaining:
            break


def _with_bypasses(pairs: Sequence[PairLatency], bypasses: Bypasses) -> Iterator[PairLatency]:
    """The pairs with their latencies beside others, and the readings that show these."""
    for pair in pairs:
        kind, alone = bypasses.kinds.get(pair.link), bypasses.alone.get(pair.link)
        evidence = bypasses.readings.get(pair.link, ())
        yield replace(
            pair,
            least=pair.least if alone is None else alone,
            queued=None if alone is None else pair.least,
            kind=kind,
            beside=() if kind is None else tuple(bypasses.excess[kind]),
            readings=(*pair.readings, *evidence),
        )


def _unsettled_chains(
    problem: LatencyProblem, readings: _Readings, connectors: Mapping[ChainLink, float]
) -> list[DependencyChain]:
    """The chains to measure again: those that neither another chain nor a second reading confirms.

    Chains of possible idioms that were not measured yet are among them; each code once.
    """
    open_idioms = _possible_idioms(problem, readings, connectors)
    chains = [
        reading.chain
        for pair in (*problem.connectors, *problem.pairs, *open_idioms)
        for reading in unconfirmed(pair, readings.of(pair.chains), connectors)
    ]
    chains += [chain for pair in open_idioms for chain in pair.chains if not readings.of([chain])]
    return [chain for chain in _distinct(chains) if not readings.is_sure(_code(chain))]


def _possible_idioms(
    problem: LatencyProblem, readings: _Readings, connectors: Mapping[ChainLink, float]
) -> list[PairChains]:
    """Choices of operands that the readings so far do not rule out."""
    if problem.additions is None:
        return []
    reader = _idiom_reader(problem, problem.additions, readings, connectors)
    usual = {choice.regular_link for choice in problem.idioms}
    by_link = {
        pair.link: read_pair(pair, readings.of(pair.chains), connectors)
        for pair in problem.pairs
        if pair.link in usual
    }
    return [
        choice.pair
        for choice in problem.idioms
        if reader.is_open(choice, None if choice.regular_link is None else by_link.get(choice.regular_link))
    ]


class _Readings:
    """Readings by the code of their chains: another pair's chain may have the same code."""

    def __init__(self) -> None:
        self._by_code: dict[tuple[bytes, bool], list[ChainReading]] = defaultdict(list)

    def add(self, reading: ChainReading) -> None:
        self._by_code[_code(reading.chain)].append(reading)

    def of(self, chains: Iterable[DependencyChain]) -> list[ChainReading]:
        """The readings of those chains that were measured; of several readings of a code the median."""
        return [
            replace(_median_reading(repeats), chain=chain)
            for chain in chains
            if (repeats := self._by_code.get(_code(chain))) is not None
        ]

    def is_sure(self, code: tuple[bytes, bool]) -> bool:
        """Whether two readings of a code agree."""
        return any(a.agrees(b) for a, b in combinations(self._by_code.get(code, ()), 2))


class _MeasuredReadings(_Readings):
    """Readings that are measured when they are needed; each is passed to `report`."""

    def __init__(self, measurer: ChainMeasurer, report: Callable[[ChainReading, int, int], None]) -> None:
        super().__init__()
        self._measurer = measurer
        self._report = report
        self._count = 0

    def measure(self, chains: Sequence[DependencyChain], attempt: int) -> None:
        """Measure these chains for attempt number `attempt`, from 0."""
        total = self._count + len(chains)
        for reading in self._measurer.measure(chains, attempt):
            self.add(reading)
            self._count += 1
            self._report(reading, self._count, total)


def _median_reading(repeats: Sequence[ChainReading]) -> ChainReading:
    """The median of the readings with cycles. Of two the quicker, because disturbances make a core slower."""
    settled = sorted((reading.cycles, at) for at, reading in enumerate(repeats) if reading.cycles is not None)
    return repeats[statistics.median_low(settled)[1]] if settled else repeats[-1]


def _code(chain: DependencyChain) -> tuple[bytes, bool]:
    """What is measured of a chain: its bytes, and whether it is a loop by itself."""
    return chain.code, chain.loop


def _distinct(chains: Iterable[DependencyChain]) -> list[DependencyChain]:
    """The first of the chains with the same code."""
    unique: dict[tuple[bytes, bool], DependencyChain] = {}
    for chain in chains:
        unique.setdefault(_code(chain), chain)
    return list(unique.values())


def _connector_latencies(connectors: Iterable[PairChains], readings: _Readings) -> dict[ChainLink, float]:
    """Latencies of the connectors; each is closed with those before it, or with itself."""
    latencies: dict[ChainLink, float] = {}
    for pair in connectors:
        latency = read_pair(pair, readings.of(pair.chains), latencies)
        if latency.best is not None:
            latencies[pair.link] = latency.best
    return latencies


def _idioms(
    problem: LatencyProblem,
    pairs: Sequence[PairLatency],
    readings: _Readings,
    connectors: Mapping[ChainLink, float],
) -> Iterator[Idiom]:
    """The idioms that the choices of operands show."""
    if problem.additions is None:
        return
    reader = _idiom_reader(problem, problem.additions, readings, connectors)
    by_link = {pair.link: pair for pair in pairs}
    into: dict[tuple[str, str], list[PairLatency]] = defaultdict(list)
    for pair in pairs:
        into[pair.link.scheme, pair.link.destination].append(pair)
    for choice in problem.idioms:
        link = choice.pair.link
        usual = None if choice.regular_link is None else by_link.get(choice.regular_link)
        if (idiom := reader.of_choice(choice, usual)) is not None:
            yield idiom
        if choice.regular_link is None:
            moves = (reader.of_move(pair, choice.independent) for pair in into[link.scheme, link.destination])
            yield from (moved for moved in moves if moved is not None)


def _idiom_reader(
    problem: LatencyProblem,
    additions: DependencyChain,
    readings: _Readings,
    connectors: Mapping[ChainLink, float],
) -> IdiomReader:
    chains = [chain for choice in problem.idioms for chain in (*choice.pair.chains, choice.independent)]
    by_chain = {reading.chain: reading for reading in readings.of([*chains, additions])}
    return IdiomReader(by_chain, connectors, additions)
