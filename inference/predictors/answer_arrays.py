"""Answers of predictors for blocks as arrays, and which of several answers are outliers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from inference.core.judging.sheet import Answers
from inference.core.tables import Floats
from inference.predictors.protocol import Answer, Failure

OUTLIER_FACTOR = 1.5
"""Factor above or below the median from which an answer is an outlier."""

_MIN_NUMBERS = 3
"""Smallest number of answers for outliers: of two that differ, either may be wrong."""


def cycles_in(answers: Sequence[Answer]) -> Floats:
    """float64[n]: the cycles, NaN where there are none."""
    return np.array(
        [np.nan if answer.cycles is None else answer.cycles for answer in answers], dtype=np.float64
    )


def column_of(answers: Sequence[Answer]) -> Answers:
    """The answers as a column of a sheet, with the failures as reasons."""
    return Answers.of(
        cycles_in(answers), [answer.failure.value if answer.failure else "" for answer in answers]
    )


def answers_in(column: Answers) -> list[Answer]:
    """The answers of a column that `column_of` made; every reason has to be a failure."""
    failures = [None, *(Failure(reason) for reason in column.lacks)]
    return [
        Answer(failure=failures[reason]) if reason else Answer(cycles=cycles)
        for cycles, reason in zip(column.cycles.tolist(), column.reasons.tolist(), strict=True)
    ]


def outlying_answers(cycles: Sequence[float | None]) -> frozenset[int]:
    """The indices of the answers that are far from the median of all; empty where most are.

    >>> sorted(outlying_answers([1.0, 1.1, None, 4.0]))
    [3]
    """
    numbers = [(place, number) for place, number in enumerate(cycles) if number]
    if len(numbers) < _MIN_NUMBERS:
        return frozenset()
    usual = statistics.median(number for _, number in numbers)
    low, high = usual / OUTLIER_FACTOR, OUTLIER_FACTOR * usual
    outliers = [place for place, number in numbers if number > high or number < low]
    # Where most answers are odd there is nothing usual that some could differ from.
    return frozenset(outliers) if 2 * len(outliers) < len(numbers) else frozenset()


def relative_spread(cycles: Sequence[float | None]) -> float | None:
    """Largest minus smallest number, as a share of their mean; None for fewer than two numbers.

    >>> relative_spread([1.0, 3.0, None])
    1.0
    """
    numbers = [number for number in cycles if number is not None]
    if len(numbers) < 2 or not max(numbers):
        return None
    return 2 * (max(numbers) - min(numbers)) / (max(numbers) + min(numbers))
