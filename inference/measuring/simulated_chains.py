"""A processor whose latencies are known, as a measurer of chains."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inference.core.latency import ChainReading
from inference.isa.chains import ChainLink, DependencyChain
from inference.isa.x86.chains import connectors

PASSES = 5


def drawn_latencies(seed: int = 0) -> Callable[[ChainLink], float]:
    """Latencies from 1 to 12 cycles, drawn by a seed; connectors take one, as on most cores."""
    quick = frozenset(connectors())

    def drawn(link: ChainLink) -> float:
        dice = random.Random(f"{seed} {link}")  # noqa: S311  not for secrets
        return 1.0 if link in quick else float(dice.randint(1, 12))

    return drawn


@dataclass(frozen=True)
class SimulatedLatencies:
    """`latency` of a link; a turn takes their sum, or `throughput` cycles per link if that is more.

    `noise`: standard deviation of a Gaussian factor around 1 on every pass; with probability `outliers` it
    takes up to twice as long. A reading is the median of `PASSES` passes. The same chain and seed give the
    same reading.
    """

    latency: Callable[[ChainLink], float]
    throughput: float = 0.25
    noise: float = 0.0
    outliers: float = 0.0
    seed: int = 1

    def measure(self, chains: Sequence[DependencyChain]) -> Iterator[ChainReading]:
        """One after the other."""
        return map(self._read, chains)

    def _read(self, chain: DependencyChain) -> ChainReading:
        dice = random.Random(zlib.crc32(chain.code) ^ self.seed)  # noqa: S311  not for secrets
        true = max(sum(map(self.latency, chain.links)), self.throughput * len(chain.links))
        passes = sorted(true * self._slower(dice) for _ in range(PASSES))
        middle = PASSES // 2
        return ChainReading(chain, passes[middle], passes[middle + 1] - passes[middle - 1])

    def _slower(self, dice: random.Random) -> float:
        """The factor of one pass."""
        factor = dice.gauss(1, self.noise)
        return factor * (1 + dice.random()) if dice.random() < self.outliers else factor
