"""Where sources disagree with each other, whichever of them is right (thesis §8.1.1 and Figure 8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from inference.core.tables import Bools, Floats, Int64s


class DifferenceMetric(StrEnum):
    """How the distance of two numbers of cycles is computed."""

    RELATIVE = "relative"
    ABSOLUTE = "absolute"


@dataclass(frozen=True, eq=False)
class DisagreementMatrix:
    """`both` int64[s, s]: items for which two sources have numbers; `differing`: how many of these differ."""

    both: Int64s
    differing: Int64s


def differences(first: Floats, second: Floats, metric: str) -> Floats:
    """Differences of two sources' times: float64[n].

    Args:
        first: Cycles by the first source, NaN where it has none.
        second: The same of the second.
        metric: A `DifferenceMetric`: cycles, or relative to the mean of both.

    Returns:
        0 where both are 0, NaN where either is NaN.
    """
    apart: Floats = np.abs(first - second)
    if metric == DifferenceMetric.ABSOLUTE:
        return apart
    total = first + second
    return np.divide(2 * apart, total, out=apart, where=~(total <= 0))


def differing(first: Floats, second: Floats, metric: str, threshold: float) -> Bools:
    """The items on which two sources differ by more than a threshold: bool[n]."""
    return differences(first, second, metric) > threshold


def disagreements(columns: Sequence[Floats], metric: str, threshold: float) -> DisagreementMatrix:
    """Disagreements of all pairs of sources.

    Args:
        columns: Cycles by each source, float64[n], NaN where it has none.
        metric: A `DifferenceMetric`.
        threshold: Threshold in cycles or as a fraction; two sources disagree on items that differ by more.
    """
    size = len(columns)
    both, far = (np.zeros((size, size), dtype=np.int64) for _ in range(2))
    answered = [~np.isnan(column) for column in columns]
    for first in range(size):
        both[first, first] = answered[first].sum()
        for second in range(first):
            both[first, second] = both[second, first] = (answered[first] & answered[second]).sum()
            apart = differing(columns[first], columns[second], metric, threshold).sum()
            far[first, second] = far[second, first] = apart
    return DisagreementMatrix(both, far)


def distinguishing_items(
    first: Floats, second: Floats, lengths: Int64s, metric: str, threshold: float, limit: int
) -> Int64s:
    """The shortest items that distinguish two sources: indices, the shortest item first.

    Of equally long items, those on which the sources differ most come first; items of unknown length
    come last.

    Args:
        first: Cycles by the first source: float64[n], NaN where it has none.
        second: The same of the second.
        lengths: Instructions of each item, 0 where unknown.
        metric: A `DifferenceMetric`.
        threshold: Threshold in cycles or as a fraction; items that differ by more distinguish.
        limit: Indices at most.
    """
    distances = differences(first, second, metric)
    at = np.flatnonzero(distances > threshold)
    sizes = np.where(lengths[at] > 0, lengths[at], np.iinfo(np.int64).max)
    return at[np.lexsort((at, -distances[at], sizes))[:limit]]
