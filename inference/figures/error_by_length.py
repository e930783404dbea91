"""How the error of predictions depends on the length of the experiments."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.residuals import LengthError
from inference.figures.plotly_json import Json, figure_json, whole_ticks


def length_figure(errors: Sequence[LengthError]) -> Json:
    """A plotly figure: MAPE over the number of instructions, and below it the number of experiments."""
    lengths = [each.length for each in errors]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "MAPE",
            "x": lengths,
            "y": [each.mape for each in errors],
            "marker": {"size": 8},
            "hovertemplate": "%{y:.2f} %<extra>MAPE</extra>",
            "meta": {"colour": "port-0"},
        },
        {
            "type": "bar",
            "name": "experiments",
            "x": lengths,
            "y": [each.n for each in errors],
            "yaxis": "y2",
            "marker": {"opacity": 0.6},
            "hovertemplate": "%{y:,}<extra>experiments</extra>",
            "meta": {"colour": "muted"},
        },
    ]
    layout = {
        "xaxis": {"title": {"text": "instructions per experiment"}, "anchor": "y2", **whole_ticks(lengths)},
        "yaxis": {"title": {"text": "MAPE (%)"}, "domain": [0.4, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": "experiments"}, "domain": [0, 0.3], "rangemode": "tozero"},
        "showlegend": False,
        "hovermode": "x unified",
        "bargap": 0.4,
    }
    return figure_json(traces, layout)
