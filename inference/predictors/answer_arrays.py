"""What predictors answer for blocks, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inference.core.arrays import Floats
from inference.core.judging.sheet import Answers
from inference.predictors.protocol import Answer, Failure


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
    """What `column_of` makes a column of; all that lack a number have failures as reasons."""
    failures = [None, *(Failure(reason) for reason in column.lacks)]
    return [
        Answer(failure=failures[reason]) if reason else Answer(cycles=cycles)
        for cycles, reason in zip(column.cycles.tolist(), column.reasons.tolist(), strict=True)
    ]
