"""Items, the answers of several sources for each of them, and which of the items are compared.

Items are measured experiments or basic blocks; a source is anything that has a number of cycles for an item:
a mapping, a tool, a measurement. The other modules of this package compute comparisons as functions of
`ComparedPoints`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from inference.core.experiment import Unit
from inference.core.metrics import convert
from inference.core.tables import Bools, ExperimentTable, Floats, Int64s


class ItemKind(StrEnum):
    """The kind of items; the value is its plural in sentences."""

    EXPERIMENTS = "experiments"
    BLOCKS = "blocks"


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of items: `number` int64[n] are indices into `names`, -1 for items in no group."""

    names: tuple[str, ...]
    number: Int64s

    @classmethod
    def of(cls, labels: Sequence[str]) -> Self:
        """Group items by their labels, in the order of the labels' texts; "" is no group."""
        names = sorted(set(labels) - {""})
        places = {name: at for at, name in enumerate(names)}
        return cls(tuple(names), np.array([places.get(label, -1) for label in labels], dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Items:
    """The rows of a comparison.

    `ids` int64[n]: rows of settled measurements, or of blocks. `lengths` int64[n]: numbers of instructions, 0
    where unknown. `weights` float64[n] ≥ 0: weight of a block; None without weights. `bounds`: the largest
    bound of each by a core model. `experiments` int64[n]: rows of the measured experiments. `read_table`
    reads the table of the items' schemes, which some selections and views need.
    """

    kind: ItemKind
    ids: Int64s
    lengths: Int64s
    weights: Floats | None = None
    bounds: Grouping | None = None
    experiments: Int64s | None = None
    read_table: Callable[[], ExperimentTable] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def table(self) -> ExperimentTable | None:
        """The schemes of the items; None where they are not known."""
        return None if self.read_table is None else self.read_table()

    def of_bound(self, name: str) -> Bools:
        """The items with this largest bound: bool[n]."""
        if self.bounds is None or name not in self.bounds.names:
            return np.zeros(len(self), dtype=bool)
        has_bound: Bools = self.bounds.number == self.bounds.names.index(name)
        return has_bound


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of one source: `cycles` float64[n], NaN where it has none.

    `reasons` uint8[n]: 0 where there is an answer, else one more than the index of the reason in `lacks`.
    """

    cycles: Floats
    reasons: npt.NDArray[np.uint8]
    lacks: tuple[str, ...]

    @classmethod
    def of(cls, cycles: Floats, reason: str | Sequence[str]) -> Self:
        """Answers with the reasons of missing ones: one for all, or one for each item."""
        lacking = np.flatnonzero(np.isnan(cycles))
        reasons = np.zeros(len(cycles), dtype=np.uint8)
        if isinstance(reason, str):
            reasons[lacking] = 1
            return cls(cycles, reasons, (reason,))
        distinct = tuple(sorted({reason[place] for place in lacking.tolist()}))
        reasons[lacking] = [1 + distinct.index(reason[place]) for place in lacking.tolist()]
        return cls(cycles, reasons, distinct)

    def lacking(self) -> list[tuple[str, int]]:
        """(reason, number of items), the most frequent first."""
        counts = np.bincount(self.reasons, minlength=len(self.lacks) + 1)[1:].tolist()
        reasons = [(reason, count) for reason, count in zip(self.lacks, counts, strict=True) if count]
        return sorted(reasons, key=lambda reason: -reason[1])


@dataclass(frozen=True, eq=False)
class ComparedPoints:
    """A source beside the reference in one unit: `at` int64[m] are indices of items, float64[m] each.

    `reference` > 0 and `predicted` ≥ 0, both finite.
    """

    at: Int64s
    reference: Floats
    predicted: Floats

    def __len__(self) -> int:
        return len(self.at)

    @cached_property
    def errors(self) -> Floats:
        """Relative errors, above 0 where the source predicts more than the reference: float64[m]."""
        return (self.predicted - self.reference) / self.reference

    def where(self, mask: Bools | Int64s) -> ComparedPoints:
        return ComparedPoints(self.at[mask], self.reference[mask], self.predicted[mask])

    def worst(self, limit: int) -> ComparedPoints:
        """At most `limit` points, the largest relative errors first; equal ones in their order."""
        sizes = np.abs(self.errors)
        candidates = np.arange(len(sizes))
        if len(sizes) > limit:
            threshold = np.partition(sizes, len(sizes) - limit)[len(sizes) - limit]
            candidates = np.flatnonzero(sizes >= threshold)
        return self.where(candidates[np.argsort(-sizes[candidates], kind="stable")[:limit]])


@dataclass(frozen=True)
class ItemSelection:
    """Which items are compared.

    `shortest` and `longest`: numbers of instructions, inclusive.

    Attributes:
        schemes: Numbers of the table's schemes, None for any; an item contains one of them or, with `only`,
            no other.
        common: Items that every source answered.
        bound: Items with this largest bound.
        apart: Items on which a source differs from the reference by at least this share of it.
    """

    shortest: int | None = None
    longest: int | None = None
    schemes: frozenset[int] | None = None
    only: bool = False
    common: bool = False
    bound: str = ""
    apart: float = 0.0

    @property
    def is_all(self) -> bool:
        return self == ALL_ITEMS

    def among(self, items: Items) -> Bools:
        """The selected items, without regard to `common` and `apart`, which depend on answers: bool[n].

        Reads the table of the items where schemes are selected.
        """
        mask = np.ones(len(items), dtype=bool)
        if self.shortest is not None:
            mask &= items.lengths >= self.shortest
        if self.longest is not None:
            mask &= items.lengths <= self.longest
        if self.bound:
            mask &= items.of_bound(self.bound)
        if self.schemes is not None and items.table is not None and len(items.table):
            table = items.table
            has_scheme = np.zeros(table.n_schemes, dtype=bool)
            has_scheme[list(self.schemes)] = True
            within = np.logical_and if self.only else np.logical_or
            mask &= within.reduceat(has_scheme[table.scheme], table.offsets[:-1])
        return mask


ALL_ITEMS = ItemSelection()


@dataclass(frozen=True, eq=False)
class AnswerSheet:
    """Items with the answers of several sources, compared with one of them, the reference.

    `reference` float64[n], in cycles, NaN or 0 for items without a number to compare with.
    """

    items: Items
    reference: Floats
    columns: Sequence[Answers]

    def against(self, column: int) -> AnswerSheet:
        return replace(self, reference=self.columns[column].cycles)

    @cached_property
    def common(self) -> Bools:
        """Items that every column with any answer has answered: bool[n]."""
        return answered_by_all([column.cycles for column in self.columns], len(self.items))

    def among(self, selection: ItemSelection) -> Bools:
        """The items of a selection, without regard to `apart`: bool[n]."""
        mask = selection.among(self.items)
        return mask & self.common if selection.common else mask

    def compare(
        self,
        column: int,
        unit: Unit = Unit.CYCLES,
        selection: ItemSelection = ALL_ITEMS,
        among: Int64s | None = None,
    ) -> ComparedPoints:
        """A column beside the reference, on the items of a selection.

        `among` int64[m], ascending: the items of the selection, where they are known already; of the
        selection only `apart` is then applied.
        """
        if among is None and not replace(selection, apart=0.0).is_all:
            among = np.flatnonzero(self.among(selection))
        points = compared(self.reference, self.items.lengths, self.columns[column].cycles, unit, among)
        return points.where(np.abs(points.errors) >= selection.apart) if selection.apart else points


def compared(
    reference: Floats, lengths: Int64s, predicted: Floats, unit: Unit, among: Int64s | None = None
) -> ComparedPoints:
    """A reference beside predictions, of all items or those `among`.

    Left out are items without a reference above 0; where the unit is instructions per cycle,
    predictions of 0 cycles; and, where the unit needs the length, items of unknown length.

    Args:
        reference: Cycles: float64[n].
        lengths: Instructions of each item, 0 where unknown.
        predicted: Cycles: float64[n], NaN where nothing was predicted.
        unit: Unit in which both are compared.
        among: Indices of items: int64[m], ascending; None for all.
    """
    if among is None:
        at = np.flatnonzero((reference > 0) & np.isfinite(predicted))
    else:
        at = among[(reference[among] > 0) & np.isfinite(predicted[among])]
    if unit is Unit.CYCLES:
        return ComparedPoints(at, reference[at], predicted[at])
    at = at[lengths[at] > 0]
    converted = convert(predicted[at], lengths[at], unit)
    finite = np.isfinite(converted)
    return ComparedPoints(at[finite], convert(reference[at], lengths[at], unit)[finite], converted[finite])


def answered_by_all(columns: Sequence[Floats], n: int) -> Bools:
    """The items that every column with any answer has answered: bool[n]."""
    common = np.ones(n, dtype=bool)
    for column in columns:
        answered = ~np.isnan(column)
        if answered.any():
            common &= answered
    return common
