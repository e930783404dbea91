"""The matrix of conflicts as it grows while pairs are measured: how much two schemes hinder each other."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.pair_conflicts import CONFLICT, PairConflicts

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
    if not conflicts.alone:
        return None
    paired = {scheme for pair in conflicts.shares for scheme in pair} or conflicts.alone.keys()
    order = sorted(paired, key=lambda scheme: (round(conflicts.alone[scheme], 2), scheme))[:MOST]
    place = {scheme: index for index, scheme in enumerate(order)}
    squares = []
    for (first, second), share in conflicts.shares.items():
        if first in place and second in place:
            level = round(LEVELS * share)
            title = f"{first} and {second}: {100 * share:.0f} % of the quicker one is added"
            across, down = SQUARE * place[first], SQUARE * place[second]
            squares += [MatrixSquare(across, down, level, title), MatrixSquare(down, across, level, title)]
    return GrowingMatrix(
        schemes=len(conflicts.alone),
        pairs=len(conflicts.shares),
        competing=sum(share >= CONFLICT for share in conflicts.shares.values()),
        quickest=min(conflicts.alone.values()),
        slowest=max(conflicts.alone.values()),
        drawn=len(order),
        size=SQUARE * len(order),
        squares=tuple(squares),
    )
