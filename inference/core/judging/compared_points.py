"""Predictors beside measurements: points of a comparison, and which schemes are taken to be too slow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Bools, Floats, Int64s
from inference.core.metrics import Unit, convert
from inference.core.tables import ExperimentTable

# Measured experiments as arrays, what predictors say of them, and which of them somebody looks at.


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


# By which factor predictions are too long or too short, scheme by scheme.


STEPS = (1.1, 1.5, 2.0, 4.0)
"""Factors at which a bias becomes another grade."""

GRADES = tuple(range(-len(STEPS), len(STEPS) + 1))
"""From far too fast over within 10 % to far too slow."""


@dataclass(frozen=True, slots=True)
class SchemeBias:
    """Predicted over measured cycles of the `n` experiments with a scheme, as geometric means.

    `scheme` is a number of the table. `factor` > 1: predicted too slow; None where nothing but 0 cycles is
    predicted, which `free` of the experiments are. `alone`: the factor of its experiments without any other
    scheme, None without such.
    """

    scheme: int
    n: int
    free: int
    factor: float | None
    alone: float | None

    @property
    def grade(self) -> int:
        """See `grade_of`; what is always free of cost is too fast beyond any factor."""
        return GRADES[0] if self.factor is None else grade_of(self.factor)


def grade_of(factor: float) -> int:
    """How many of the `STEPS` a factor has reached: > 0 too slow, < 0 too fast, 0 within 10 %."""
    if factor >= 1:
        return bisect_right(STEPS, factor)
    return -bisect_right(STEPS, 1 / factor) if factor else GRADES[0]


def biases(table: ExperimentTable, cycles: ComparedPoints) -> list[SchemeBias]:
    """One entry per scheme that occurs among the compared experiments, by number; `cycles` are in cycles."""
    terms = np.diff(table.offsets)[cycles.at]
    positive = cycles.predicted > 0
    logs = np.log(np.where(positive, cycles.predicted, cycles.measured)) - np.log(cycles.measured)
    entries = _entries(table, cycles.at)
    schemes = table.scheme[entries].astype(np.int64)
    sums = _Sums(schemes, np.repeat(logs, terms), np.repeat(positive, terms), table.n_schemes)
    single = np.repeat(terms == 1, terms)
    lone = _Sums(
        schemes[single], np.repeat(logs, terms)[single], np.repeat(positive, terms)[single], table.n_schemes
    )
    return [
        SchemeBias(number, sums.n(number), sums.free(number), sums.factor(number), lone.factor(number))
        for number in np.flatnonzero(sums.all).tolist()
    ]


def _entries(table: ExperimentTable, at: Int64s) -> Int64s:
    """The places in the table of all terms of the experiments `at`, one experiment after the other."""
    terms = np.diff(table.offsets)[at]
    ends = np.cumsum(terms)
    places: Int64s = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
    places += np.repeat(table.offsets[at] - (ends - terms), terms)
    return places


class _Sums:
    """Numbers of experiments and sums of logarithms by scheme."""

    def __init__(self, schemes: Int64s, logs: Floats, positive: np.ndarray, size: int) -> None:
        self.all = np.bincount(schemes, minlength=size)
        self._positive = np.bincount(schemes, weights=positive, minlength=size)
        self._logs = np.bincount(schemes, weights=logs, minlength=size)

    def n(self, number: int) -> int:
        return int(self.all[number])

    def free(self, number: int) -> int:
        return int(self.all[number] - self._positive[number])

    def factor(self, number: int) -> float | None:
        counted = self._positive[number]
        return float(np.exp(self._logs[number] / counted)) if counted else None
