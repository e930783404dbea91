"""A processor whose latencies are known, as a measurer of chains."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from inference.core.latency import ChainReading
from inference.isa.bodies import chain_maker
from inference.isa.chains import OLD_VALUE, QUICK, SAME_REGISTER, SLOW, ChainLink, DependencyChain
from inference.isa.targets import DEFAULT
from inference.measuring.simulated_memory import SimulatedMemory

PASSES = 5  # of a reading, of which the median counts


Latency = Callable[[ChainLink], float | None]
"""Cycles of a link; None where the destination does not wait for the source."""

_IDIOM_SHARE = 0.1
"""Share of the schemes that wait for nothing with equal registers, and of those that wait for an old
value.
"""

_SLOW_IMMEDIATE_SHARE = 0.03
"""Share of the immediates with which an instruction takes longer."""

_MAX_IMMEDIATE_CYCLES = 3
"""Largest additional cycles of an instruction with another immediate."""

_MAX_VALUE_CYCLES = 30
"""Largest additional cycles of an instruction with slow values."""


def sampled_latencies(seed: int = 0, isa: str = DEFAULT) -> Latency:
    """Random latencies of an instruction set from 1 to 12 cycles; its connectors take one.

    Where values matter, slow ones take up to 30 cycles more than quick ones. With some immediates
    instructions take longer, too. The same seed gives the same latencies.
    """
    maker = chain_maker(isa)
    single = frozenset(maker.connectors())

    def latency_of(link: ChainLink) -> float | None:
        if link.values == QUICK:  # what takes no values is quick
            return latency_of(replace(link, values=""))
        dice = random.Random(f"{seed} {link}")  # noqa: S311  not for secrets
        if link.source == OLD_VALUE and dice.random() > _IDIOM_SHARE:
            return None
        if link.source == SAME_REGISTER:
            return None if dice.random() < _IDIOM_SHARE else _slowest(link)
        if link.values == SLOW:
            return (latency_of(replace(link, values="")) or 0.0) + dice.randint(0, _MAX_VALUE_CYCLES)
        if link.values:  # another immediate than the usual one
            extra_cycles = (
                dice.randint(1, _MAX_IMMEDIATE_CYCLES) if dice.random() < _SLOW_IMMEDIATE_SHARE else 0
            )
            return (latency_of(replace(link, values="")) or 0.0) + extra_cycles
        return 1.0 if link in single else float(dice.randint(1, 12))

    def _slowest(link: ChainLink) -> float:
        """The largest latency of a link: with equal registers, the destination waits for the slowest
        source.
        """
        to_it = (other for other in maker.links_of(link.scheme) if other.destination == link.destination)
        return max(filter(None, map(latency_of, to_it)))

    return latency_of


@cache
def _through_memory() -> frozenset[DependencyChain]:
    return frozenset(memory_chain.chain for memory_chain in chain_maker(DEFAULT).memory_chains())


@dataclass(frozen=True)
class SimulatedLatencies:
    """Measures chains by the `latency` of links.

    A turn takes the sum of its latencies, or `throughput` cycles per instruction if that is more, or where a
    link waits for nothing. `noise`: standard deviation of a Gaussian factor around 1 on every pass; with
    probability `outliers` a pass takes up to twice as long. A reading is the median of `PASSES` passes, the
    same for the same chain, seed and repeat. Chains through memory are executed by `memory` where there is
    one.
    """

    latency: Latency
    throughput: float = 0.25
    noise: float = 0.0
    outliers: float = 0.0
    seed: int = 1
    memory: SimulatedMemory | None = None

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        return (self._read(chain, repeat) for chain in chains)

    def _read(self, chain: DependencyChain, repeat: int) -> ChainReading:
        dice = random.Random(zlib.crc32(chain.code, repeat) ^ self.seed)  # noqa: S311  not for secrets
        true = self._true(chain)
        passes = sorted(true * self._slower(dice) for _ in range(PASSES))
        middle = PASSES // 2
        return ChainReading(chain, passes[middle], passes[middle + 1] - passes[middle - 1])

    def _true(self, chain: DependencyChain) -> float:
        if self.memory is not None and chain in _through_memory():
            return self.memory.cycles_of(chain)
        latencies = [self.latency(link) for link in chain.links]
        together = 0.0 if None in latencies else sum(filter(None, latencies))
        return max(together, self.throughput * max(len(latencies), chain.instances))

    def _slower(self, dice: random.Random) -> float:
        factor = dice.gauss(1, self.noise)
        return factor * (1 + dice.random()) if dice.random() < self.outliers else factor
