"""Figures of a core's rates: front end by loop, instruction length and place in a line; stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json, figure_json

Points = Sequence[tuple[float, float]]
LEGEND_ABOVE = {"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}, "hovermode": "closest"}


def line_trace(points: Points, name: str, tint: int, hover_text: str) -> Json:
    """A plotly trace of points; `tint`: index of its colour; `hover_text`: a plotly template."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "line": {"color": LIGHT[tint]},
        "meta": {"colour": f"port-{tint}"},
        "hovertemplate": f"{hover_text}<extra>{name}</extra>",
    }


def rate_figure(rates: Mapping[str, Points]) -> Json:
    """Instructions per cycle over the instructions in a loop, on a logarithmic axis; a line per filling."""
    traces = [
        line_trace(points, name, tint, "%{x:,} instructions: %{y:.2f} per cycle")
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
        line_trace(points, name, tint, "%{x} bytes: %{y:.2f} per cycle")
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


def store_figure(curves: Mapping[str, Points]) -> Json:
    """Cycles per store over the lines that stores go to in turn; a line per width of stores."""
    traces = [
        line_trace(points, name, tint % len(LIGHT), "%{x} lines: %{y:.2f} cycles per store")
        for tint, (name, points) in enumerate(curves.items())
    ]
    layout = {
        "xaxis": {"title": {"text": "cache lines that are stored to in turn"}, "dtick": 4},
        "yaxis": {"title": {"text": "cycles per store"}, "rangemode": "tozero"},
        **LEGEND_ABOVE,
    }
    return figure_json(traces, layout)
