"""What chains through memory say: how long loads take, and how a stored value reaches a load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from inference.core.latency.reading import LEAST, ChainReading
from inference.core.protocols import Json
from inference.isa.chains import ChainLink, DependencyChain, MemoryChain

_PLAIN = 64
"""Bits of the load that others are held against."""
_QUICKER = 0.25
"""Cycles by which a value must arrive before any load could have ended."""
_FAILED = 1.5
"""Times what forwarding of one register's width takes."""


class Forwarding(StrEnum):
    """How a stored value reached a load."""

    RENAMED = "renamed"
    """Sooner than any load ends: the core knows that it is the same place."""
    FORWARDED = "forwarded"
    """From the store buffer."""
    FAILED = "failed"
    """The load waited until the store was done."""


@dataclass(frozen=True, slots=True)
class MemoryLatency:
    """`cycles` from the address, or the stored value, to what is loaded, and of what is no chain those of
    an iteration; None where it did not settle.

    Of a chain that is not `isolated` they are a bound. `how` is of stores.
    """

    asked: MemoryChain
    cycles: float | None
    how: Forwarding | None
    reading: ChainReading

    def as_json(self) -> Json:
        """A plain object, with machine code in hexadecimal digits."""
        asked = self.asked
        return {
            "stored": asked.stored,
            "loaded": asked.loaded,
            "register_class": asked.register_class,
            "address": asked.address,
            "offset": asked.offset,
            "between": asked.between,
            "condition": str(asked.condition),
            "number": asked.number,
            "chained": bool(asked.chain.links),
            "cycles": None if self.cycles is None else round(self.cycles, 3),
            "at_most": not asked.isolated,
            "how": None if self.how is None else str(self.how),
            "code": asked.chain.code.hex(),
            "per_turn": None if self.reading.cycles is None else round(self.reading.cycles, 3),
            "spread": round(self.reading.spread, 3),
            "note": self.reading.note,
        }


def read_memory(
    chains: Sequence[MemoryChain],
    readings: Mapping[DependencyChain, ChainReading],
    known: Mapping[ChainLink, float],
) -> tuple[MemoryLatency, ...]:
    """The latencies of all chains that were measured. `known`: those of connectors."""
    measured = [asked for asked in chains if asked.chain in readings]
    cycles = {asked: _cycles(asked, readings[asked.chain], known) for asked in measured}
    return tuple(
        MemoryLatency(asked, found, _how(asked, found, cycles), readings[asked.chain])
        for asked, found in cycles.items()
    )


def _cycles(asked: MemoryChain, reading: ChainReading, known: Mapping[ChainLink, float]) -> float | None:
    if reading.cycles is None:
        return None
    if not asked.chain.links:
        return reading.cycles / asked.chain.instances
    first, *more = asked.chain.links
    times = 1 + more.count(first)
    left = reading.cycles - sum(known.get(link, LEAST) for link in more if link != first)
    return max(left / times, 0.0)  # what is renamed takes none, and connectors have their own errors


def _how(
    asked: MemoryChain, cycles: float | None, all_cycles: Mapping[MemoryChain, float | None]
) -> Forwarding | None:
    if not asked.stored or not asked.chain.links or cycles is None:
        return None
    load = _quickest_load(all_cycles)
    if load is not None and cycles <= load - _QUICKER:
        return Forwarding.RENAMED
    waits = [
        value
        for other, value in all_cycles.items()
        if value is not None
        and other.stored == other.loaded
        and other.chain.links
        and not other.offset
        and other.register_class == asked.register_class
        and (load is None or value > load - _QUICKER)
    ]
    if waits and cycles > _FAILED * median(waits):
        return Forwarding.FAILED
    return Forwarding.FORWARDED


def _quickest_load(all_cycles: Mapping[MemoryChain, float | None]) -> float | None:
    """Of a general-purpose register; those of vectors are only bounds, and take no less."""
    found = (
        value
        for other, value in all_cycles.items()
        if not other.stored
        and other.chain.links
        and other.isolated
        and other.loaded == _PLAIN
        and value is not None
    )
    return min(found, default=None)
