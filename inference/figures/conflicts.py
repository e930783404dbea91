"""The matrix of conflicts as a heat map: schemes, or classes of them, against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inference.core.arrays import Floats
from inference.figures.plotly_json import Json, figure_json

SCALE = ((0.0, "#e4e8ee"), (0.5, "#5aa0c8"), (1.0, "#08306b"))
"""Of light pages; dark ones have their own."""


def conflict_figure(labels: Sequence[str], shares: Floats) -> Json:
    """`shares`: float64[n, n] from 0 (side by side) to 1 (one waits for the other), NaN for a gap.

    Cells are in per cent.
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
    # Whole numbers need no check, which takes longer than everything else for a hundred thousand of them.
    figure["data"][0]["z"] = [[None if cell < 0 else cell for cell in row] for row in percent.tolist()]
    return figure
