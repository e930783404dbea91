"""How well a source agrees with the reference: in numbers, by group, and by scheme."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.judging.sheet import ComparedPoints, Grouping
from inference.core.metrics import Scores, score
from inference.core.tables import ExperimentTable, Floats, Int64s

NEAR_TOLERANCE = 0.10
"""Share of the reference within which a prediction is near."""

ABOVE_TOLERANCE = 0.03
"""Share of the reference by which a lower bound may exceed it: the variation of measurements."""

_ROUNDING = 1e-12  # a relative error that exceeds a tolerance by less equals it but for rounding


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of a source with the reference; a number is None where it is undefined, as on no items.

    `median` of the absolute errors, and `signed` of those with their sign (above 0 where too much is
    predicted), in per cent of the reference. Shares of the items that are `near` the reference, and more than
    `ABOVE_TOLERANCE` above it. `weighted`: the MAPE in which each item counts by its weight.
    """

    scores: Scores
    median: float | None = None
    signed: float | None = None
    near: float | None = None
    above: float | None = None
    weighted: float | None = None


def agreement(points: ComparedPoints, weights: Floats | None = None) -> Agreement:
    """The agreement on compared points; `weights` float64[n] ≥ 0 are of all items."""
    scores = score(points.reference, points.predicted)
    if not len(points):
        return Agreement(scores)
    sizes = np.abs(points.errors)
    return Agreement(
        scores,
        median=100 * float(np.median(sizes)),
        signed=100 * float(np.median(points.errors)),
        near=float((sizes <= NEAR_TOLERANCE + _ROUNDING).mean()),
        above=float((points.errors > ABOVE_TOLERANCE).mean()),
        weighted=None if weights is None else weighted_error(points, weights),
    )


def weighted_error(points: ComparedPoints, weights: Floats) -> float | None:
    """Weighted mean of the absolute errors in per cent; None where all weights are 0."""
    point_weights = weights[points.at]
    total = float(point_weights.sum())
    return 100 * float(np.abs(points.errors) @ point_weights) / total if total > 0 else None


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Errors on the `n` compared items of a group, in per cent: means, and the median absolute error."""

    name: str
    n: int
    mape: float
    median: float
    signed: float


def errors_by_group(points: ComparedPoints, groups: Grouping) -> tuple[GroupErrors, ...]:
    """Errors of each group that has a compared item, in the order of the names."""
    numbers = groups.number[points.at]
    return tuple(
        _group_errors(groups.names[number], points.errors[numbers == number])
        for number in np.unique(numbers[numbers >= 0]).tolist()
    )


def _group_errors(name: str, errors: Floats) -> GroupErrors:
    sizes = np.abs(errors)
    means = 100 * float(sizes.mean()), 100 * float(np.median(sizes)), 100 * float(errors.mean())
    return GroupErrors(name, len(errors), *means)


GRADE_FACTORS = (1.1, 1.5, 2.0, 4.0)
"""Factors at which a bias gets another grade."""

GRADES = tuple(range(-len(GRADE_FACTORS), len(GRADE_FACTORS) + 1))
"""From far too fast over within 10 % to far too slow."""


@dataclass(frozen=True, slots=True)
class SchemeBias:
    """Predicted over measured cycles of the `n` experiments with a scheme, as geometric means.

    Attributes:
        scheme: Its number in the table.
        n: Number of experiments.
        free: How many of these are predicted to take 0 cycles; they do not enter the means.
        factor: Above 1 where predictions are too slow; None where all of them are 0 cycles.
        alone: The factor of the experiments without any other scheme; None without such.
    """

    scheme: int
    n: int
    free: int
    factor: float | None
    alone: float | None

    @property
    def grade(self) -> int:
        """See `grade_of`; a scheme that is always predicted as free has the lowest grade."""
        return GRADES[0] if self.factor is None else grade_of(self.factor)


def grade_of(factor: float) -> int:
    """How many of the `GRADE_FACTORS` a factor has reached: > 0 too slow, < 0 too fast, 0 within 10 %.

    >>> grade_of(2.5), grade_of(0.95)
    (3, 0)
    """
    if factor >= 1:
        return bisect_right(GRADE_FACTORS, factor)
    return -bisect_right(GRADE_FACTORS, 1 / factor) if factor else GRADES[0]


def biases(table: ExperimentTable, cycles: ComparedPoints) -> list[SchemeBias]:
    """The bias of each scheme, by number, that occurs in compared experiments; times are in cycles."""
    terms = np.diff(table.offsets)[cycles.at]
    positive = cycles.predicted > 0
    # 0 where 0 cycles are predicted: such experiments are not counted in the means.
    logs = np.log(np.where(positive, cycles.predicted, cycles.reference)) - np.log(cycles.reference)
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


def grouped_table(table: ExperimentTable, groups: Sequence[str]) -> ExperimentTable:
    """The same experiments over groups of schemes in place of schemes; `groups` has one for each scheme."""
    names, number = np.unique(np.array(groups, dtype=object).astype(str), return_inverse=True)
    # One key per experiment and group, ascending by experiment: terms with the same key are added up.
    experiment = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    n_groups = max(len(names), 1)
    keys = experiment * n_groups + number[table.scheme]
    merged, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(place, weights=table.count, minlength=len(merged)).astype(np.int32)
    sizes = np.bincount(merged // n_groups, minlength=len(table))
    return ExperimentTable(
        tuple(names.tolist()),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        (merged % n_groups).astype(np.int32),
        counts,
        table.lengths,
    )


def _entries(table: ExperimentTable, at: Int64s) -> Int64s:
    """The indices in the table of all terms of the experiments `at`, one experiment after another."""
    terms = np.diff(table.offsets)[at]
    ends = np.cumsum(terms)
    places: Int64s = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
    places += np.repeat(table.offsets[at] - (ends - terms), terms)
    return places


class _Sums:
    """Numbers of experiments and sums of logarithms by scheme.

    Args:
        schemes: Scheme of each term, one per experiment and scheme.
        logs: Logarithm of predicted over measured cycles of the term's experiment.
        positive: Whether that experiment is predicted to take more than 0 cycles.
        size: Number of schemes.
    """

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
