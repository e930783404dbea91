"""Distinguishing experiments of three-level mappings, by evaluating all short multisets of schemes at once.

Experiments of one length are the columns of a table with a row for each port set Q that may be the bottleneck
(the unions of µops' port sets, thesis §5.1.4), holding the µops confined to Q. Listed in ascending order, the
experiments of length n that begin with class c are c followed by each of length n - 1 that begins with c or
later, which is a tail of the list before: a block of the next table is a slice of the previous one plus one
column.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.mapping import Uops
from inference.core.throughput import densest_ports

MAX_UNIONS = 1 << 12
"""Largest number of rows of a table; with more port sets, experiments are evaluated one by one."""

_MAX_UOPS = 1 << 31  # that a table can count
_CHUNK_ENTRIES = 1 << 19  # entries of a table that are looked at together: they stay in the cache


def decimal(value: float) -> Fraction:
    """The number as it is written: 0.02 is 1/50, not the binary fraction next to it."""
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class SchemeClass:
    """Schemes that each mapping treats equally, represented by the first: its µops and slots in each."""

    scheme: str
    uops: tuple[Uops, Uops]
    slots: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class DistinguishingQuestion:
    """Find an experiment with |t₁ - t₂| > `margin` · |e|; tᵢ = max(tp⁻¹ᵢ, |e| / ratesᵢ, slots / widthsᵢ).

    An answer is a tuple of indices of classes in ascending order, repeats listed.

    Args:
        classes: Parts of experiments, in ascending order of their schemes.
        margin: Cycles per instruction.
        rates: R_max of each mapping in instructions per cycle; None for no limit.
        widths: Issue width of each mapping in slots per cycle; None for no limit.
        pulse: Called between steps; may raise to end the search.
    """

    classes: tuple[SchemeClass, ...]
    margin: Fraction
    rates: tuple[float | None, float | None]
    widths: tuple[float | None, float | None] = (None, None)
    pulse: Callable[[], None] = field(default=lambda: None, compare=False)

    @staticmethod
    def classes_of(schemes: Iterable[SchemeClass]) -> tuple[SchemeClass, ...]:
        """One class for all schemes with the same µops and slots; they come in ascending order.

        The first smallest experiment needs no other scheme of a class: replacing each by the first one
        changes neither prediction and makes the list of its instructions no larger.
        """
        classes: dict[object, SchemeClass] = {}
        for group in schemes:
            classes.setdefault((group.uops, group.slots), group)
        return tuple(classes.values())

    @cached_property
    def floors(self) -> tuple[Fraction, Fraction]:
        """The fewest cycles per instruction that each mapping's limits allow: an instruction takes a slot."""
        first, second = (
            max(_per_unit(rate), _per_unit(width))
            for rate, width in zip(self.rates, self.widths, strict=True)
        )
        return first, second

    @cached_property
    def per_slot(self) -> tuple[Fraction, Fraction]:
        """Cycles per issue slot in each mapping, 0 where it has no issue width."""
        first, second = (_per_unit(width) for width in self.widths)
        return first, second

    @property
    def is_two_level(self) -> bool:
        """Whether every scheme has at most one µop, and takes one slot where an issue width counts slots."""
        return all(
            sum(count for _, count in uops) <= 1 and (slots == 1 or not per_slot)
            for group in self.classes
            for uops, slots, per_slot in zip(group.uops, group.slots, self.per_slot, strict=True)
        )


def _per_unit(rate: float | None) -> Fraction:
    return Fraction(0) if rate is None else 1 / decimal(rate)


Answer = tuple[int, ...]
Ints = npt.NDArray[Any]


def search_answer(question: DistinguishingQuestion, max_length: int) -> Answer | None:
    """The first of the smallest answers to the question with up to `max_length` instructions."""
    families = [_unions(question, mapping) for mapping in (0, 1)]
    uops = max(sum(count for _, count in uops) for group in question.classes for uops in group.uops)
    uops = max(uops, *(slots for group in question.classes for slots in group.slots))
    if any(family is None for family in families) or uops * max_length >= _MAX_UOPS:
        return _enumerate(question, max_length)
    return _search(question, [family for family in families if family is not None], uops, max_length)


def _search(
    question: DistinguishingQuestion, families: list[list[int]], uops: int, max_length: int
) -> Answer | None:
    """The first experiment, by length, then by classes, whose times differ by more than the margin.

    All times are whole numbers of a common unit, so that they compare exactly; numpy's integers are
    used where none can overflow.
    """
    unit = math.lcm(
        question.margin.denominator,
        *(cycles.denominator for cycles in (*question.floors, *question.per_slot)),
        *(union.bit_count() for family in families for union in family),
    )
    limits = (math.ceil(uops * cycles) for cycles in (*question.floors, *question.per_slot))
    per_instruction = max(uops, math.ceil(question.margin), *limits)
    exact = np.int64 if unit * per_instruction * max_length < 1 << 62 else np.object_
    tables = [_Table(question, k, family, unit, exact) for k, family in enumerate(families)]
    n = len(question.classes)
    for length in range(1, max_length + 1):
        before = comb(n + length - 2, length - 1)
        tails = [before - comb(n - k + length - 2, length - 1) for k in range(n)]
        limit = int(question.margin * length * unit)  # whole: the unit divides all of these numbers
        question.pulse()
        position = _first_gap(tables, tails, before, length, limit)
        if position is not None:
            answers = itertools.combinations_with_replacement(range(n), length)
            return next(itertools.islice(answers, position, None))
        if length < max_length:
            for table in tables:
                table.add_instruction(tails)
    return None


def _first_gap(tables: list[_Table], tails: list[int], before: int, length: int, limit: int) -> int | None:
    """The position of the first experiment of this length whose times differ by more than the limit."""
    step = max(1, _CHUNK_ENTRIES // max(table.height for table in tables))
    position = 0
    for k, tail in enumerate(tails):
        for start in range(tail, before, step):
            end = min(start + step, before)
            first, second = (table.times(k, start, end, length) for table in tables)
            apart = np.flatnonzero(abs(first - second) > limit)
            if apart.size:
                return position + int(apart[0])
            position += end - start
    return None


class _Table:
    """One mapping's µops inside each port set, and its issue slots, for all experiments of one length.

    Times are whole numbers of 1/unit cycles, of type `exact`.
    """

    def __init__(
        self,
        question: DistinguishingQuestion,
        mapping: int,
        family: list[int],
        unit: int,
        exact: type[np.generic],
    ) -> None:
        self.height = max(1, len(family))  # of schemes without µops only slots can tell
        self._unit = unit
        self._exact = exact
        self._floor = question.floors[mapping]
        widths = [union.bit_count() for union in family]
        self._groups = [
            (unit // width, widths.index(width), widths.count(width)) for width in sorted(set(widths))
        ]
        self._per_class = _uops_within([group.uops[mapping] for group in question.classes], family)
        if question.per_slot[mapping]:
            self._groups.append((int(unit * question.per_slot[mapping]), len(family), 1))
            slots = np.array([[group.slots[mapping] for group in question.classes]], dtype=np.int32)
            self._per_class = np.concatenate((self._per_class, slots))
        self._shorter = np.zeros((len(self._per_class), 1), dtype=np.int32)

    def times(self, k: int, start: int, end: int, length: int) -> Ints:
        """Times of class k followed by each of a range of experiments that are one instruction shorter."""
        confined = self._shorter[:, start:end] + self._per_class[:, k, None]
        slowest = np.full(end - start, int(self._floor * length * self._unit), dtype=self._exact)
        for weight, row, rows in self._groups:
            highest = confined[row : row + rows].max(axis=0).astype(self._exact)
            np.maximum(slowest, highest * weight, out=slowest)
        return slowest

    def add_instruction(self, tails: list[int]) -> None:
        """Extend the table to experiments of one more instruction."""
        blocks = [self._shorter[:, tail:] + self._per_class[:, k, None] for k, tail in enumerate(tails)]
        self._shorter = np.concatenate(blocks, axis=1)


def _uops_within(classes: Sequence[Uops], family: Sequence[int]) -> Ints:
    """The µops of each class inside each port set: int32[port sets, classes]."""
    kinds = sorted({mask for uops in classes for mask, _ in uops})
    row = {mask: k for k, mask in enumerate(kinds)}
    counts = np.zeros((len(kinds), len(classes)))
    for k, uops in enumerate(classes):
        for mask, count in uops:
            counts[row[mask], k] = count
    outside = ~np.array(family, dtype=np.int64)[:, None]
    inside = np.array(kinds, dtype=np.int64)[None, :] & outside == 0
    confined: Ints = (inside @ counts).astype(np.int32)  # whole numbers below 2^31: exact in float64
    return confined


def _unions(question: DistinguishingQuestion, mapping: int) -> list[int] | None:
    """All unions of occurring port sets, narrow ones first; None if there are more than `MAX_UNIONS`."""
    unions = {0}
    for mask in sorted({mask for group in question.classes for mask, _ in group.uops[mapping]}):
        unions |= {union | mask for union in unions}
        if len(unions) > MAX_UNIONS:
            return None
    return sorted(unions - {0}, key=lambda union: (union.bit_count(), union))


def _enumerate(question: DistinguishingQuestion, max_length: int) -> Answer | None:
    for length in range(1, max_length + 1):
        for answer in itertools.combinations_with_replacement(range(len(question.classes)), length):
            question.pulse()
            first, second = (_time(question, mapping, answer) for mapping in (0, 1))
            if abs(first - second) > question.margin * length:
                return answer
    return None


def _time(question: DistinguishingQuestion, mapping: int, answer: Answer) -> Fraction:
    work: Counter[int] = Counter()
    for k in answer:
        work.update(dict(question.classes[k].uops[mapping]))
    densest = densest_ports(work) if work else None
    ports_bound = Fraction(densest.mass, densest.width) if densest else Fraction(0)
    slots = sum(question.classes[k].slots[mapping] for k in answer)
    return max(ports_bound, question.floors[mapping] * len(answer), question.per_slot[mapping] * slots)
