"""A picture of what stores take over so many cache lines in turn."""

from __future__ import annotations

from collections.abc import Mapping

from inference.figures.colours import LIGHT
from inference.figures.lines import LEGEND_ABOVE, Points, marked_line
from inference.figures.plotly_json import Json, figure_json


def store_figure(curves: Mapping[str, Points]) -> Json:
    """Cycles per store over the lines that stores go to in turn; a line per width of stores."""
    traces = [
        marked_line(points, name, tint % len(LIGHT), "%{x} lines: %{y:.2f} cycles per store")
        for tint, (name, points) in enumerate(curves.items())
    ]
    layout = {
        "xaxis": {"title": {"text": "cache lines that are stored to in turn"}, "dtick": 4},
        "yaxis": {"title": {"text": "cycles per store"}, "rangemode": "tozero"},
        **LEGEND_ABOVE,
    }
    return figure_json(traces, layout)
