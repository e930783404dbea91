"""Which of several answers about one block does not fit the others."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

ODD = 1.5
"""Times the median, or one part in so many of it, from which an answer is odd."""

_FEWEST = 3
"""Numbers among which one can be odd: of two that differ, either may be."""


def odd_answers(cycles: Sequence[float | None]) -> frozenset[int]:
    """The places of those that are far from the median of all."""
    told = [(place, number) for place, number in enumerate(cycles) if number]
    if len(told) < _FEWEST:
        return frozenset()
    usual = statistics.median(number for _, number in told)
    found = [place for place, number in told if number > ODD * usual or number < usual / ODD]
    # Where most answers are odd there is nothing usual that some could differ from.
    return frozenset(found) if 2 * len(found) < len(told) else frozenset()


def apart(cycles: Sequence[float | None]) -> float | None:
    """How far the largest and the smallest number are apart, in parts of their mean; None for a single."""
    told = [number for number in cycles if number is not None]
    if len(told) < 2 or not max(told):
        return None
    return 2 * (max(told) - min(told)) / (max(told) + min(told))
