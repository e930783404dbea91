"""The matrix of conflicts as it grows while pairs are measured: how much two schemes hinder each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inference.core.pair_conflicts import PairConflicts

MOST = 64
"""Schemes drawn: those of a longer list would be smaller than one can see."""

LEVELS = 4
SQUARE = 9


@dataclass(frozen=True)
class MatrixSquare:
    """One pair, measured: `level` from 0 (side by side) to `LEVELS` (one after the other)."""

    x: int
    y: int
    level: int
    title: str


@dataclass(frozen=True)
class GrowingMatrix:
    """What was measured so far; `size` of the square drawing in pixels, `squares` of both halves."""

    schemes: int
    pairs: int
    competing: int
    quickest: float
    slowest: float
    drawn: int
    size: int
    squares: tuple[MatrixSquare, ...]


def growing_matrix(conflicts: PairConflicts) -> GrowingMatrix | None:
    """Of schemes that are in pairs, the quickest first; None before anything was measured."""
    if not len(conflicts.schemes):
        return None
    paired = conflicts.paired() if len(conflicts.pairs) else np.arange(len(conflicts.schemes))
    order = paired[np.lexsort((paired, conflicts.alone[paired].round(2)))][:MOST].tolist()
    row_of = {scheme: row for row, scheme in enumerate(order)}
    squares = []
    for (first, second), share in zip(conflicts.pairs.tolist(), conflicts.shares.tolist(), strict=True):
        if first in row_of and second in row_of:
            level = round(LEVELS * share)
            names = f"{conflicts.schemes[first]} and {conflicts.schemes[second]}"
            title = f"{names}: {100 * share:.0f} % of the quicker one is added"
            across, down = SQUARE * row_of[first], SQUARE * row_of[second]
            squares += [MatrixSquare(across, down, level, title), MatrixSquare(down, across, level, title)]
    return GrowingMatrix(
        schemes=len(conflicts.schemes),
        pairs=len(conflicts.pairs),
        competing=conflicts.competing,
        quickest=float(conflicts.alone.min()),
        slowest=float(conflicts.alone.max()),
        drawn=len(order),
        size=SQUARE * len(order),
        squares=tuple(squares),
    )
