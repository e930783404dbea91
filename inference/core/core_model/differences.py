"""Two cores side by side: issue, front end, memory and kinds of instructions, as pairs of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inference.core.core_model.model import FrontEndLimits, MemoryTimes
from inference.core.core_model.overview import CoreOverview, UnitKind

SAME_WITHIN = 0.03
"""Relative difference up to which two measured numbers count as equal."""
_FRONT_END = (
    ("slots in loops", "per cycle", "slots"),
    ("longest quick loop", "instructions", "loop_capacity"),
    ("straight code", "instructions per cycle", "straight_instructions"),
    ("straight code", "bytes per cycle", "straight_bytes"),
    ("taken branches", "per cycle", "taken"),
    ("NOPs in loops", "per cycle", "nops"),
)


@dataclass(frozen=True)
class CoreNumber:
    """A number of two cores; None where it was not measured.

    Args:
        subject: A stage, memory, or a kind of instructions.
        aspect: What is counted or measured.
        unit: Unit of both numbers.
    """

    subject: str
    aspect: str
    unit: str
    first: float | None
    second: float | None

    @property
    def differs(self) -> bool:
        """Whether both are known and differ by more than `SAME_WITHIN`."""
        if self.first is None or self.second is None:
            return False
        return abs(self.first - self.second) > SAME_WITHIN * max(abs(self.first), abs(self.second))


@dataclass(frozen=True)
class ComparedCore:
    """A core as far as it can be compared; `memory` is None where no latencies were measured."""

    overview: CoreOverview
    memory: MemoryTimes | None = None


def core_numbers(first: ComparedCore, second: ComparedCore) -> list[CoreNumber]:
    """All numbers that at least one of two cores has, by subject."""
    return [
        number for number in _numbers(first, second) if number.first is not None or number.second is not None
    ]


def _numbers(first: ComparedCore, second: ComparedCore) -> Iterator[CoreNumber]:
    a, b = first.overview, second.overview
    yield CoreNumber("issue", "instructions", "per cycle", a.instructions, b.instructions)
    yield CoreNumber("issue", "slots", "per cycle", a.slots, b.slots)
    for aspect, unit, name in _FRONT_END:
        numbers = _limit(a.front_end, name), _limit(b.front_end, name)
        yield CoreNumber("front end", aspect, unit, *numbers)
    yield CoreNumber("memory", "load latency", "cycles", _load(first.memory), _load(second.memory))
    forwarding = _forwarding(first.memory), _forwarding(second.memory)
    yield CoreNumber("memory", "store to load, 64 bits", "cycles", *forwarding)
    kinds = {kind.name: kind for kind in (*a.kinds, *b.kinds)}
    for name in kinds:
        pair = _kind(a, name), _kind(b, name)
        yield CoreNumber(name, "ports", "", *(None if kind is None else len(kind.ports) for kind in pair))
        cycles = (None if kind is None else kind.cycles for kind in pair)
        yield CoreNumber(name, "quickest alone", "cycles", *cycles)
        for place, aspect in enumerate(("least latency", "largest latency")):
            latencies = (
                None if kind is None or kind.latencies is None else kind.latencies[place] for kind in pair
            )
            yield CoreNumber(name, aspect, "cycles", *latencies)


def _limit(limits: FrontEndLimits | None, name: str) -> float | None:
    return None if limits is None else getattr(limits, name)


def _load(memory: MemoryTimes | None) -> float | None:
    return None if memory is None else memory.load


def _forwarding(memory: MemoryTimes | None) -> float | None:
    return None if memory is None else memory.forwarded.get((64, 64, 0, False))


def _kind(core: CoreOverview, name: str) -> UnitKind | None:
    return next((kind for kind in core.kinds if kind.name == name), None)
