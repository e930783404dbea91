"""The conflict matrix, which shows for pairs of schemes how much of the quicker one's time is added.

It is a heat map of a finished run, and squares while pairs are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.pair_conflicts import PairConflicts
from inference.core.tables import Floats
from inference.figures.plotly_json import Json, figure_json

SCALE = ((0.0, "#e4e8ee"), (0.5, "#5aa0c8"), (1.0, "#08306b"))
"""Colours for light pages; dark pages have their own."""

MAX_SCHEMES = 64
"""Rows at most: squares of a larger matrix would be too small to see."""

LEVELS = 4
SQUARE = 9


def conflict_figure(labels: Sequence[str], shares: Floats) -> Json:
    """`shares`: float64[n, n] from 0 (side by side) to 1 (one waits for the other), NaN for a gap.

    Cells are in per cent; a gap is None.
    """
    percent = np.where(np.isnan(shares), -1, np.rint(100 * np.nan_to_num(shares))).astype(np.int64)
    trace: Json = {
        "type": "heatmap",
        "x": list(labels),
        "y": list(labels),
        "z": [[0]],
        "zmin": 0,
        "zmax": 100,
        "colorscale": [list(step) for step in SCALE],
        "hoverongaps": False,
        "hovertemplate": "%{y}<br>%{x}<br>%{z} % of the quicker one is added<extra></extra>",
        "colorbar": {"ticksuffix": " %", "title": {"text": "added"}},
    }
    axis = {"type": "category", "showgrid": False}
    figure = figure_json([trace], {"xaxis": axis, "yaxis": {**axis, "autorange": "reversed"}})
    # Validating a hundred thousand integers would take longer than all the rest.
    figure["data"][0]["z"] = [[None if cell < 0 else cell for cell in row] for row in percent.tolist()]
    return figure


@dataclass(frozen=True)
class MatrixSquare:
    """One pair, measured: `level` from 0 (side by side) to `LEVELS` (one after the other)."""

    x: int
    y: int
    level: int
    title: str


@dataclass(frozen=True)
class GrowingMatrix:
    """The pairs measured so far; `size` of the square drawing in pixels, `squares` of both halves."""

    schemes: int
    pairs: int
    competing: int
    quickest: float
    slowest: float
    n_rows: int
    size: int
    squares: tuple[MatrixSquare, ...]


def growing_matrix(conflicts: PairConflicts) -> GrowingMatrix | None:
    """The matrix of up to `MAX_SCHEMES` schemes in pairs, the quickest first; None before any measurement."""
    if not len(conflicts.schemes):
        return None
    paired = conflicts.paired() if len(conflicts.pairs) else np.arange(len(conflicts.schemes))
    order = paired[np.lexsort((paired, conflicts.alone[paired].round(2)))][:MAX_SCHEMES].tolist()
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
        n_rows=len(order),
        size=SQUARE * len(order),
        squares=tuple(squares),
    )
