"""How well a source agrees with the reference: in numbers, and group by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inference.core.judging.sheet import ComparedPoints, Grouping
from inference.core.metrics import Scores, score
from inference.core.tables import Floats

NEAR = 0.10
"""Share of the reference within which a prediction is near."""
ABOVE = 0.03
"""Share of the reference by which a lower bound may be above it: what measurements vary by."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Agreement:
    """A source beside the reference; a number is None where it is undefined, as on no items.

    `median` of the absolute errors, and `signed`, of those with their sign (above 0 where too much is
    predicted), in per cent of the reference. Shares of the items that are `near` the reference, and more than
    `ABOVE` over it. `weighted`: the MAPE in which each item counts by its weight.
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
        near=float((sizes <= NEAR + _ROUNDING).mean()),
        above=float((points.errors > ABOVE).mean()),
        weighted=None if weights is None else weighted_error(points, weights),
    )


def weighted_error(points: ComparedPoints, weights: Floats) -> float | None:
    """The mean absolute error in per cent, each item counted by its weight; None where all weights are 0."""
    own = weights[points.at]
    total = float(own.sum())
    return 100 * float(np.abs(points.errors) @ own) / total if total > 0 else None


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Errors on the `n` compared items of a group, in per cent: means, and the median of the sizes."""

    name: str
    n: int
    mape: float
    median: float
    signed: float


def errors_by_group(points: ComparedPoints, groups: Grouping) -> tuple[GroupErrors, ...]:
    """One entry per group with any compared item, in the order of the names."""
    numbers = groups.number[points.at]
    return tuple(
        _group_errors(groups.names[number], points.errors[numbers == number])
        for number in np.unique(numbers[numbers >= 0]).tolist()
    )


def _group_errors(name: str, errors: Floats) -> GroupErrors:
    sizes = np.abs(errors)
    means = 100 * float(sizes.mean()), 100 * float(np.median(sizes)), 100 * float(errors.mean())
    return GroupErrors(name, len(errors), *means)
