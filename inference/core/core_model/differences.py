"""Two cores side by side: issue, front end, memory and kinds of instructions, as pairs of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import MemoryTimes
from inference.core.core_model.overview import CoreOverview, UnitKind

_WORDS = (64, 64, 0, False)
"""A word that is stored and loaded by general-purpose registers."""
SAME_WITHIN = 0.03
"""Relative difference up to which two measured numbers count as equal."""


@dataclass(frozen=True)
class CoreQuantity:
    """A number of one core with its unit; None where it was not measured."""

    aspect: str
    unit: str
    value: float | None


def front_end_quantities(limits: FrontEndLimits | None) -> list[CoreQuantity]:
    """The rates of a front end, always in the same order."""
    front_end = FrontEndLimits() if limits is None else limits
    return [
        CoreQuantity("slots in loops", "per cycle", front_end.slots),
        CoreQuantity("longest quick loop", "instructions", front_end.loop_capacity),
        CoreQuantity("straight code", "instructions per cycle", front_end.straight_instructions),
        CoreQuantity("straight code", "bytes per cycle", front_end.straight_bytes),
        CoreQuantity("taken branches", "per cycle", front_end.taken),
        CoreQuantity("NOPs in loops", "per cycle", front_end.nops),
    ]


def memory_quantities(memory: MemoryTimes | None) -> list[CoreQuantity]:
    """The times of loads and stores, always in the same order."""
    times = MemoryTimes() if memory is None else memory
    forwarded = {} if times.renaming is None else times.renaming.forwarded
    return [
        CoreQuantity("load latency", "cycles", None if memory is None else times.load),
        CoreQuantity("store to load, 64 bits", "cycles", times.forwarded.get(_WORDS)),
        CoreQuantity(
            "the same, not renamed",
            "cycles",
            forwarded.get(_WORDS),
        ),
        CoreQuantity("load of more than a store wrote", "cycles", times.blocked),
        CoreQuantity("stores to one line", "per cycle", _rate(times.to_one_line)),
        CoreQuantity("stores to other lines", "per cycle", _rate(times.to_another_line)),
    ]


def _rate(cycles: float | None) -> float | None:
    return 1 / cycles if cycles else None


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
    for subject, quantities in (
        ("front end", zip(front_end_quantities(a.front_end), front_end_quantities(b.front_end), strict=True)),
        ("memory", zip(memory_quantities(first.memory), memory_quantities(second.memory), strict=True)),
    ):
        for quantity, other in quantities:
            yield CoreNumber(subject, quantity.aspect, quantity.unit, quantity.value, other.value)
    kinds = {kind.name: kind for kind in (*a.kinds, *b.kinds)}
    for name in kinds:
        pair = _kind(a, name), _kind(b, name)
        ports = (None if kind is None else len(kind.ports) or None for kind in pair)  # no port: none is known
        yield CoreNumber(name, "ports", "", *ports)
        cycles = (None if kind is None else kind.cycles for kind in pair)
        yield CoreNumber(name, "quickest alone", "cycles", *cycles)
        for place, aspect in enumerate(("least latency", "largest latency")):
            latencies = (
                None if kind is None or kind.latencies is None else kind.latencies[place] for kind in pair
            )
            yield CoreNumber(name, aspect, "cycles", *latencies)


def _kind(core: CoreOverview, name: str) -> UnitKind | None:
    return next((kind for kind in core.kinds if kind.name == name), None)
