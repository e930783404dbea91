"""Measured experiments as arrays, what predictors say of them, and which of them are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Bools, Floats, Int64s
from inference.core.metrics import Unit, convert
from inference.core.tables import ExperimentTable


@dataclass(frozen=True, eq=False)
class Points:
    """The settled measurements of a set, in the order of their rows.

    `ids` and `experiments` int64[n]: rows of the measurements and of their experiments; `cycles` float64[n],
    each > 0; `lengths` int64[n]: instructions of the experiments.
    """

    ids: Int64s
    experiments: Int64s
    cycles: Floats
    lengths: Int64s

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class ComparedPoints:
    """Measurements beside predictions in one unit: `at` int64[m] are indices of points, float64[m] each."""

    at: Int64s
    measured: Floats
    predicted: Floats


def compared(
    cycles: Floats, lengths: Int64s, said: Floats, unit: Unit, among: Bools | None = None
) -> ComparedPoints:
    """Measured `cycles` beside what a predictor `said` (NaN: nothing), of the points `among`: float64[n].

    A prediction of 0 cycles is left out where the unit is instructions per cycle, as everywhere.
    """
    there = ~np.isnan(said) if among is None else among & ~np.isnan(said)
    at = np.flatnonzero(there)
    predicted = convert(said[at], lengths[at], unit)
    finite = np.isfinite(predicted)
    measured = convert(cycles[at], lengths[at], unit)
    return ComparedPoints(at[finite], measured[finite], predicted[finite])


def answered_by_all(columns: Sequence[Floats], n: int) -> Bools:
    """The points of which every one of these that has any prediction at all has one: bool[n]."""
    found = np.ones(n, dtype=bool)
    for column in columns:
        answered = ~np.isnan(column)
        if answered.any():
            found &= answered
    return found


@dataclass(frozen=True)
class PointSelection:
    """Which points to look at.

    `shortest` and `longest`: numbers of instructions, inclusive. `schemes`: numbers of the table's schemes,
    None for any; a point has one of them or, with `only`, no other. `common`: what every predictor answered.
    """

    shortest: int | None = None
    longest: int | None = None
    schemes: frozenset[int] | None = None
    only: bool = False
    common: bool = False

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self == PointSelection()

    def among(self, lengths: Int64s, table: ExperimentTable | None) -> Bools:
        """The experiments that length and schemes let through: bool[n]; `common` is not heeded.

        `lengths` int64[n] of the experiments; the table of them is needed where schemes are chosen.
        """
        chosen = np.ones(len(lengths), dtype=bool)
        if self.shortest is not None:
            chosen &= lengths >= self.shortest
        if self.longest is not None:
            chosen &= lengths <= self.longest
        if self.schemes is not None and table is not None and len(table):
            wanted = np.zeros(table.n_schemes, dtype=bool)
            wanted[list(self.schemes)] = True
            within = np.logical_and if self.only else np.logical_or
            chosen &= within.reduceat(wanted[table.scheme], table.offsets[:-1])
        return chosen
