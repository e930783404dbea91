"""Lines with a marker at each measured point, and where their legend stands."""

from __future__ import annotations

from collections.abc import Sequence

from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json

Points = Sequence[tuple[float, float]]
LEGEND_ABOVE = {"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}, "hovermode": "closest"}


def marked_line(points: Points, name: str, tint: int, shown: str) -> Json:
    """A named trace of points; `tint`: the number of its colour."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "line": {"color": LIGHT[tint]},
        "meta": {"colour": f"port-{tint}"},
        "hovertemplate": f"{shown}<extra>{name}</extra>",
    }
