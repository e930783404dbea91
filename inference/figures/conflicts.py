"""The matrix of conflicts as a heat map: schemes, or classes of them, against each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inference.core.arrays import Floats
from inference.figures.plotly_json import Json, figure_json

SCALE = ((0.0, "#e4e8ee"), (0.5, "#5aa0c8"), (1.0, "#08306b"))
"""Of light pages; dark ones have their own."""


def conflict_figure(labels: Sequence[str], shares: Floats) -> Json:
    """`shares`: float64[n, n] from 0 (side by side) to 1 (one waits for the other), NaN for a gap."""
    cells = [
        [None if hole else round(share, 2) for share, hole in zip(row, holes, strict=True)]
        for row, holes in zip(shares.tolist(), np.isnan(shares).tolist(), strict=True)
    ]
    trace: Json = {
        "type": "heatmap",
        "x": list(labels),
        "y": list(labels),
        "z": cells,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [list(step) for step in SCALE],
        "hoverongaps": False,
        "hovertemplate": "%{y}<br>%{x}<br>%{z:.0%} of the quicker one is added<extra></extra>",
        "colorbar": {"tickformat": ".0%", "title": {"text": "added"}},
    }
    axis = {"type": "category", "showgrid": False}
    return figure_json([trace], {"xaxis": axis, "yaxis": {**axis, "autorange": "reversed"}})
