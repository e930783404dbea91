"""How long loads take, and how a stored value reaches a load, from chains through memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from inference.core.latency.reading import MIN_CONNECTOR, ChainReading
from inference.core.protocols import Json
from inference.isa.chains import ChainLink, DependencyChain, MemoryChain

_PLAIN_BITS = 64
"""Bits of the load that others are compared with."""

_MIN_QUICKER = 0.25
"""Cycles by which a value must arrive before any load could have ended."""

_FAILED_RATIO = 1.5
"""Multiple of the time of forwarding at equal widths, above which forwarding failed."""


class Forwarding(StrEnum):
    """How a stored value reached a load."""

    RENAMED = "renamed"
    """Before any load could end: the core recognises that it is the same place."""
    FORWARDED = "forwarded"
    """From the store buffer."""
    FAILED = "failed"
    """The load waited until the store was complete."""


@dataclass(frozen=True, slots=True)
class MemoryLatency:
    """`cycles` from the address, or the stored value, to the loaded value; None where it did not settle.

    Of a probe that is no chain, the cycles of an iteration; of a chain that is not `isolated`, a bound.
    `how`: of stores only.
    """

    memory_chain: MemoryChain
    cycles: float | None
    how: Forwarding | None
    reading: ChainReading

    def as_json(self) -> Json:
        """A plain object, with machine code in hexadecimal digits."""
        memory_chain = self.memory_chain
        return {
            "stored": memory_chain.stored,
            "loaded": memory_chain.loaded,
            "register_class": memory_chain.register_class,
            "address": memory_chain.address,
            "offset": memory_chain.offset,
            "between": memory_chain.between,
            "condition": str(memory_chain.condition),
            "number": memory_chain.number,
            "chained": bool(memory_chain.chain.links),
            "cycles": None if self.cycles is None else round(self.cycles, 3),
            "at_most": not memory_chain.isolated,
            "how": None if self.how is None else str(self.how),
            "code": memory_chain.chain.code.hex(),
            "per_turn": None if self.reading.cycles is None else round(self.reading.cycles, 3),
            "spread": round(self.reading.spread, 3),
            "note": self.reading.note,
        }


def read_memory(
    chains: Sequence[MemoryChain],
    readings: Mapping[DependencyChain, ChainReading],
    connectors: Mapping[ChainLink, float],
) -> tuple[MemoryLatency, ...]:
    """The latencies of all chains that were measured. `connectors`: their latencies."""
    measured = [probe for probe in chains if probe.chain in readings]
    cycles = {probe: _cycles(probe, readings[probe.chain], connectors) for probe in measured}
    return tuple(
        MemoryLatency(probe, value, _forwarding(probe, value, cycles), readings[probe.chain])
        for probe, value in cycles.items()
    )


def _cycles(probe: MemoryChain, reading: ChainReading, connectors: Mapping[ChainLink, float]) -> float | None:
    """Cycles of one passage through memory: of the chain's time, what its connectors do not take."""
    if reading.cycles is None:
        return None
    if not probe.chain.links:
        return reading.cycles / probe.chain.instances
    first, *other_links = probe.chain.links
    times = 1 + other_links.count(first)
    remaining = reading.cycles - sum(
        connectors.get(link, MIN_CONNECTOR) for link in other_links if link != first
    )
    return max(remaining / times, 0.0)  # what is renamed takes none, and connectors have their own errors


def _forwarding(
    probe: MemoryChain, cycles: float | None, all_cycles: Mapping[MemoryChain, float | None]
) -> Forwarding | None:
    """How a stored value reached the load, by its time and those of other probes; None without a store."""
    if not probe.stored or not probe.chain.links or cycles is None:
        return None
    load = _quickest_load(all_cycles)
    if load is not None and cycles <= load - _MIN_QUICKER:
        return Forwarding.RENAMED
    forwarded = [
        value
        for other, value in all_cycles.items()
        if value is not None
        and other.stored == other.loaded
        and other.chain.links
        and not other.offset
        and other.register_class == probe.register_class
        and (load is None or value > load - _MIN_QUICKER)
    ]
    if forwarded and cycles > _FAILED_RATIO * median(forwarded):
        return Forwarding.FAILED
    return Forwarding.FORWARDED


def _quickest_load(all_cycles: Mapping[MemoryChain, float | None]) -> float | None:
    """The quickest load of a general-purpose register; those of vectors are only bounds, and no smaller."""
    loads = (
        value
        for other, value in all_cycles.items()
        if not other.stored
        and other.chain.links
        and other.isolated
        and other.loaded == _PLAIN_BITS
        and value is not None
    )
    return min(loads, default=None)
