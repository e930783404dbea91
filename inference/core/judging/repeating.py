"""What measuring the same items once more gives: no prediction of them can be expected to come nearer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.core.tables import Bools, Floats

FAR_OUT = 3.0
"""Interquartile ranges above the third quartile beyond which Tukey calls a value far out."""
USUAL = 0.03
"""Share of the smaller reading by which two readings of an item may differ and never be set aside."""


@dataclass(frozen=True)
class RepeatSpread:
    """Two readings of the same items, `n` of them with both.

    `set_aside`: items whose readings differ by far more than those of the others, such as 0.98 and 18.31
    cycles: one of the two was disturbed. `mape`, in per cent of the first reading, and `median` are of the
    others; None where there are none.
    """

    n: int
    set_aside: int
    mape: float | None
    median: float | None

    def as_json(self) -> dict[str, Any]:
        return {"n": self.n, "set_aside": self.set_aside, "mape": self.mape, "median": self.median}


def repeat_spread(first: Floats, second: Floats) -> tuple[RepeatSpread, Bools]:
    """The spread of two readings of each item, and which items it rests on.

    Args:
        first: float64[n], in cycles; nan or 0 where an item has no reading.
        second: float64[n], the same items measured once more.

    Returns:
        The spread, and bool[n]: items with both readings that are not set aside.
    """
    both = (first > 0) & (second > 0)
    differences = np.full(len(first), np.nan)
    differences[both] = np.abs(second[both] - first[both]) / np.minimum(first[both], second[both])
    steady = np.zeros(len(first), dtype=bool)
    steady[both] = differences[both] <= fence(differences[both])
    if not steady.any():
        return RepeatSpread(int(both.sum()), 0, None, None), steady
    errors = 100 * np.abs(second[steady] - first[steady]) / first[steady]
    spread = RepeatSpread(
        int(both.sum()),
        int(both.sum() - steady.sum()),
        float(errors.mean()),
        float(np.median(errors)),
    )
    return spread, steady


def fence(differences: Floats) -> float:
    """The difference beyond which an item is set aside: it depends on the quartiles alone, which outliers
    cannot move, and never lies below what readings usually vary by."""
    if not len(differences):
        return USUAL
    first, third = np.quantile(differences, (0.25, 0.75))
    return max(USUAL, float(third + FAR_OUT * (third - first)))
