"""Values of files that are hard to believe: they are imported, and listed beside the import.

What is doubted without the file's other values is decided here; `file_numbers` compares measurements with
bounds and with each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from inference.core.texts import count_of

LISTED = 50
"""DoubtList of each kind that are listed; further ones are only counted."""

TOLERANCE = 0.1
"""Share by which numbers may be below a bound, or differ between rows, because of noise."""

_IN_LINE = 3  # doubts of a kind that a log names

_FACTOR = 0.12
"""Share by which a ratio may differ from 2: reciprocal throughputs of two tools differ by so much."""

VECTOR_LOAD = 4.0
"""Cycles within which no documented x86 core loads a vector: a general register takes 4 or 5, a vector one
or two more."""

RENAMES_MEMORY = ("ZEN2", "ZEN4", "SPR")
"""Cores, by OSACA's names, on which a stored value can be loaded without a cycle: Zen 2 and Golden Cove by
Agner Fog's manual, Zen 4 as measured by this program.
"""

_QUICK_LOAD = (
    "with a quick vector load",
    f"a vector load takes more than {VECTOR_LOAD:g} cycles on every documented core",
)
VECTOR_REGISTERS = ("xmm", "ymm", "zmm")
_TWICE = ", about twice or half as much"
_LOADS_VECTOR = re.compile(r"\S+ [XYZ]MM:W, MEM\[\d+\]:R")


@dataclass(frozen=True)
class OddMeasurement:
    """An implausible value: row of the file, what it is of, cycles, and why it is implausible."""

    row: int
    experiment: str
    cycles: float
    why: str


@dataclass(frozen=True)
class OddKind:
    """A kind of doubt: its label, the number of rows, and the first `LISTED` of them."""

    label: str
    count: int
    listed: tuple[OddMeasurement, ...]

    def line(self) -> str:
        """The kind with its first rows, for a log."""
        first, whys = self.listed[:_IN_LINE], {doubt.why for doubt in self.listed}
        reason = f" ({whys.pop()})" if len(whys) == 1 else ""
        rows = (
            f"row {doubt.row}, {doubt.experiment}: {doubt.cycles:.4g}" + ("" if reason else f" ({doubt.why})")
            for doubt in first
        )
        suffix = "; …" if self.count > len(first) else ""
        return f"{count_of(self.count, 'row')} {self.label}{reason}: {'; '.join(rows)}{suffix}"


@dataclass
class DoubtList:
    """Collects doubts by their label."""

    _by_label: dict[str, list[OddMeasurement]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, label: str, why: str, row: int, subject: str, cycles: float) -> None:
        listed = self._by_label.setdefault(label, [])
        self._counts[label] = self._counts.get(label, 0) + 1
        if len(listed) < LISTED:
            listed.append(OddMeasurement(row, subject, cycles, why))

    def kinds(self) -> tuple[OddKind, ...]:
        return tuple(OddKind(label, self._counts[label], tuple(by)) for label, by in self._by_label.items())


def is_factor_of_two(number: float, other: float) -> bool:
    """Whether a number is about twice or half the other, as if it were in another unit.

    >>> is_factor_of_two(0.5, 1.02), is_factor_of_two(3, 1.5), is_factor_of_two(1, 1.5)
    (True, True, False)
    """
    low, high = sorted((number, other))
    return bool(low > 0 and abs(high / low - 2) <= 2 * _FACTOR)


def differ(number: float, other: float) -> bool:
    """Whether two numbers for the same differ by more than noise."""
    low, high = sorted((number, other))
    return bool(high > low * (1 + TOLERANCE))


def difference(number: float, other: float) -> str:
    """`: 1 cycles, not 0.5, about twice or half as much`; "" for numbers that are the same but for noise."""
    return f": {other:.4g} cycles, not {number:.4g}{_TWICE * is_factor_of_two(number, other)}" * differ(
        number, other
    )


def contradiction(number: float, other: float, place: str) -> str:
    """Why a number is doubted for which `place` has another one."""
    return f"{place} says {other:.4g}{_TWICE * is_factor_of_two(number, other)}"


class _Pair(Protocol):
    """A latency between two operands."""

    @property
    def source(self) -> str: ...

    @property
    def most(self) -> float | None: ...


def latency_doubts(latencies: Iterable[tuple[str, int, _Pair]]) -> tuple[OddKind, ...]:
    """Implausible latencies of a foreign file: (scheme, row, pair of operands) each."""
    doubts = DoubtList()
    for scheme, row, pair in latencies:
        is_quick = 0 < (pair.most or 0) <= VECTOR_LOAD and pair.source.endswith("address")
        if is_quick and _LOADS_VECTOR.fullmatch(scheme):
            doubts.add(*_QUICK_LOAD, row, scheme, pair.most or 0.0)
    return doubts.kinds()


def memory_doubts(model: Mapping[str, Any]) -> tuple[OddKind, ...]:
    """What is hard to believe of the loads and the store-to-load forwarding of a machine model of OSACA."""
    doubts = DoubtList()
    loads, row = model.get("load_latency"), getattr(model, "line", 1)
    for register, cycles in loads.items() if isinstance(loads, dict) else ():
        if register in VECTOR_REGISTERS and isinstance(cycles, int | float) and 0 < cycles <= VECTOR_LOAD:
            doubts.add(*_QUICK_LOAD, getattr(loads, "line", row), f"load_latency of {register}", cycles)
    core = str(model.get("arch_code")).upper()
    if model.get("store_to_load_forward_latency") == 0 and core not in RENAMES_MEMORY:
        why = "only a core that renames memory forwards in no time; it is not known of this one"
        doubts.add("with forwarding in no time", why, row, "store_to_load_forward_latency", 0.0)
    return doubts.kinds()
