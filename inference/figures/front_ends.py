"""Pictures of a front end: what it sustains by length of loop, length of instruction, and place in a line."""

from __future__ import annotations

from collections.abc import Mapping

from inference.figures.colours import LIGHT
from inference.figures.lines import LEGEND_ABOVE, Points, marked_line
from inference.figures.plotly_json import Json, figure_json


def rate_figure(rates: Mapping[str, Points]) -> Json:
    """Instructions per cycle over the instructions in a loop, on a logarithmic axis; a line per filling."""
    traces = [
        marked_line(points, name, tint, "%{x:,} instructions: %{y:.2f} per cycle")
        for tint, (name, points) in enumerate(rates.items())
    ]
    layout = {
        "xaxis": {"title": {"text": "instructions in the loop"}, "type": "log", "nticks": 6},
        "yaxis": {"title": {"text": "instructions per cycle"}, "rangemode": "tozero"},
        **LEGEND_ABOVE,
    }
    return figure_json(traces, layout)


def length_figure_of_front_end(loops: Points, straight: Points) -> Json:
    """Instructions per cycle over the bytes of an instruction, in loops and in code that runs once."""
    traces = [
        marked_line(points, name, tint, "%{x} bytes: %{y:.2f} per cycle")
        for tint, (name, points) in enumerate({"in a loop": loops, "straight code": straight}.items())
    ]
    layout = {
        "xaxis": {"title": {"text": "bytes of a NOP, on average"}, "dtick": 1},
        "yaxis": {"title": {"text": "instructions per cycle"}, "rangemode": "tozero"},
        **LEGEND_ABOVE,
    }
    return figure_json(traces, layout)


def offset_figure(offsets: Points) -> Json:
    """Cycles per iteration of a short loop over the place of its first byte in a cache line."""
    trace = {
        "type": "bar",
        "x": [place for place, _ in offsets],
        "y": [cycles for _, cycles in offsets],
        "marker": {"color": LIGHT[0]},
        "meta": {"colour": "port-0"},
        "hovertemplate": "byte %{x}: %{y:.2f} cycles<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": "first byte of the loop within its cache line"}, "dtick": 8},
        "yaxis": {"title": {"text": "cycles per iteration"}, "rangemode": "tozero"},
    }
    return figure_json([trace], layout)
