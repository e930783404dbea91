"""Chains that were measured before, as a measurer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inference.core.latency import ChainReading
from inference.isa.chains import DependencyChain

MISSING = "not in the recorded data"


class RecordedChains:
    """Answers with what was `recorded`: {(code, whether it is a loop): (cycles, spread, note)}."""

    def __init__(self, recorded: Mapping[tuple[bytes, bool], tuple[float | None, float, str]]) -> None:
        self._recorded = recorded

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        """One after the other, the same each time; of what is missing, a note that says so.

        Earlier versions put no chain into a loop.
        """
        del repeat
        for chain in chains:
            found = self._recorded.get((chain.code, chain.loop)) or self._recorded.get((chain.code, False))
            yield ChainReading(chain, *(found or (None, 0.0, MISSING)))
