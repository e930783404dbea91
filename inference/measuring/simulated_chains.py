"""A processor whose latencies are known, as a measurer of chains."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference.core.latency import ChainReading
from inference.isa.chains import ChainLink, DependencyChain
from inference.isa.x86.chains import connectors

PASSES = 5


class DrawnLatencies(Mapping[ChainLink, float]):
    """Latencies of all links there can be, drawn by a seed: short ones for connectors, as real cores have."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._connectors = frozenset(connectors())

    def __getitem__(self, link: ChainLink) -> float:
        """From 1 to 12 cycles."""
        dice = random.Random(f"{self._seed} {link}")  # noqa: S311  not for secrets
        return 1.0 if link in self._connectors else float(dice.randint(1, 12))

    def __iter__(self) -> Iterator[ChainLink]:
        """There is no end of them: only the connectors are listed."""
        return iter(self._connectors)

    def __len__(self) -> int:
        """How many are listed."""
        return len(self._connectors)


@dataclass(frozen=True)
class SimulatedLatencies:
    """`latencies` of links; a turn takes their sum, or `throughput` cycles per link if that is more.

    `noise`: standard deviation of a Gaussian factor around 1 on every pass; with probability `outliers` it
    takes up to twice as long. A reading is the median of `PASSES` passes. The same chain and seed give the
    same reading.
    """

    latencies: Mapping[ChainLink, float]
    throughput: float = 0.25
    noise: float = 0.0
    outliers: float = 0.0
    seed: int = 1

    def measure(self, chains: Sequence[DependencyChain]) -> Iterator[ChainReading]:
        """One after the other; a link that is not known is a chain that fails."""
        for chain in chains:
            unknown = next((link for link in chain.links if link not in self.latencies), None)
            if unknown is not None:
                yield ChainReading(chain, None, note=f"the simulated processor does not know {unknown}")
                continue
            yield self._read(chain)

    def _read(self, chain: DependencyChain) -> ChainReading:
        dice = random.Random(zlib.crc32(chain.code) ^ self.seed)  # noqa: S311  not for secrets
        true = max(sum(self.latencies[link] for link in chain.links), self.throughput * len(chain.links))
        passes = sorted(true * self._slower(dice) for _ in range(PASSES))
        middle = PASSES // 2
        return ChainReading(chain, passes[middle], passes[middle + 1] - passes[middle - 1])

    def _slower(self, dice: random.Random) -> float:
        """The factor of one pass."""
        factor = dice.gauss(1, self.noise)
        return factor * (1 + dice.random()) if dice.random() < self.outliers else factor
