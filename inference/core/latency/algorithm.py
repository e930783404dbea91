"""Infers latencies: connectors first, then every pair of operands by chains that these close.

All chains are measured in one go, the connectors' at the beginning; what follows is arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.core.latency.reading import ChainReading, PairLatency, read_pair
from inference.isa.chains import ChainLink, DependencyChain, PairChains


class ChainMeasurer(Protocol):
    """Says how many cycles a turn of a chain takes."""

    def measure(self, chains: Sequence[DependencyChain]) -> Iterator[ChainReading]:
        """A reading of each, in any order."""
        ...


@dataclass(frozen=True)
class LatencyResult:
    """`pairs`: those asked for, in their order; `connectors`: the latencies of what closed their chains."""

    pairs: tuple[PairLatency, ...]
    connectors: Mapping[ChainLink, float]

    @property
    def isolated(self) -> int:
        """Pairs that have a value."""
        return sum(one.is_isolated for one in self.pairs)

    @property
    def bounded(self) -> int:
        """Pairs of which only a bound is known."""
        return sum(one.at_most is not None for one in self.pairs)


def infer_latencies(
    pairs: Sequence[PairChains],
    connectors: Sequence[PairChains],
    measurer: ChainMeasurer,
    heard: Callable[[ChainReading, int, int], None] = lambda reading, done, total: None,
) -> LatencyResult:
    """Measure the chains of connectors and pairs, each code once, and read the latencies off.

    `heard` is called with every reading, how many there are, and how many there will be.
    """
    wanted = dict.fromkeys(chain for pair in (*connectors, *pairs) for chain in pair.chains)
    by_code: dict[bytes, ChainReading] = {}
    unique = list({chain.code: chain for chain in wanted}.values())
    for reading in measurer.measure(unique):
        by_code[reading.chain.code] = reading
        heard(reading, len(by_code), len(unique))
    known = _known(connectors, by_code)
    return LatencyResult(tuple(read_pair(pair, _readings(pair, by_code), known) for pair in pairs), known)


def _known(connectors: Iterable[PairChains], by_code: Mapping[bytes, ChainReading]) -> dict[ChainLink, float]:
    """Latencies of the connectors; each is closed with those before it, or with itself."""
    known: dict[ChainLink, float] = {}
    for pair in connectors:
        found = read_pair(pair, _readings(pair, by_code), known)
        if found.best is not None:
            known[pair.link] = found.best
    return known


def _readings(pair: PairChains, by_code: Mapping[bytes, ChainReading]) -> list[ChainReading]:
    """The readings of a pair's chains; another pair's chain may have had the same code."""
    return [
        ChainReading(chain, found.cycles, found.spread, found.note)
        for chain in pair.chains
        if (found := by_code.get(chain.code)) is not None
    ]
