"""Curves over the generations of an evolution, and over the sweeps of an exact re-fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json, figure_json, whole_ticks

_BEST, _MEAN = LIGHT[0], LIGHT[1]


def fitness_curve(generations: Iterable[Mapping[str, Any]], minimised: str = "error") -> Json:
    """A plotly figure: error above, µop volume below, best and mean of the population over generations.

    Each generation is {"generation", "best_error", "mean_error", "best_volume", "mean_volume"}; errors are
    fractions and are drawn in per cent. `minimised`: what they are called.
    """
    points = sorted(generations, key=lambda point: int(point["generation"]))
    traces = [
        _line(points, "best_error", f"best {minimised}", "y", _BEST, scale=100, digits="%{y:.2f} %"),
        _line(points, "mean_error", f"mean {minimised}", "y", _MEAN, scale=100, digits="%{y:.2f} %"),
        _line(points, "best_volume", "volume of the best", "y2", _BEST, dash="dot"),
        _line(points, "mean_volume", "mean volume", "y2", _MEAN, dash="dot"),
    ]
    layout = {
        "xaxis": {"title": {"text": "generation"}, "anchor": "y2", "rangemode": "tozero"},
        "yaxis": {"title": {"text": f"{minimised} (%)"}, "domain": [0.4, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": "µops × ports"}, "domain": [0, 0.3], "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "x unified",
    }
    return figure_json(traces, layout)


def sweep_curve(sweeps: Iterable[Mapping[str, Any]]) -> Json:
    """A plotly figure over the sweeps of a re-fit: error above, distinct µops below, a colour per start.

    Each sweep is {"start", "sweep", "changed", "error", "volume", "kinds"}; errors are fractions, drawn in
    per cent. `start` tells independent re-fits apart.
    """
    by_start: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for point in sorted(sweeps, key=lambda point: int(point["sweep"])):
        by_start[int(point["start"])].append(point)
    traces = []
    for start, points in sorted(by_start.items()):
        name, tint = f"start {start + 1}", start % len(LIGHT)
        for key, axis, scale, digits in (("error", "y", 100, "%{y:.2f} %"), ("kinds", "y2", 1, "%{y} kinds")):
            trace = _line(points, key, name, axis, LIGHT[tint], scale=scale, digits=digits, over="sweep")
            legend = {"legendgroup": name, "showlegend": axis == "y"}
            traces.append(trace | legend | {"mode": "lines+markers", "meta": {"colour": f"port-{tint}"}})
    numbers = sorted({int(point["sweep"]) for points in by_start.values() for point in points})
    layout = {
        "xaxis": {"title": {"text": "sweep"}, "anchor": "y2", **whole_ticks(numbers)},
        "yaxis": {"title": {"text": "error (%)"}, "domain": [0.4, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": "kinds"}, "domain": [0, 0.3], "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "showlegend": len(by_start) > 1,
        "hovermode": "x unified",
    }
    return figure_json(traces, layout)


def _line(
    points: list[Mapping[str, Any]],
    key: str,
    name: str,
    axis: str,
    colour: str,
    *,
    scale: float = 1,
    dash: str = "solid",
    digits: str = "%{y:,.0f}",
    over: str = "generation",
) -> Json:
    return {
        "type": "scatter",
        "mode": "lines" if len(points) > 1 else "markers",
        "name": name,
        "x": [point[over] for point in points],
        "y": [point[key] * scale for point in points],
        "xaxis": "x",
        "yaxis": axis,
        "line": {"color": colour, "dash": dash},
        "hovertemplate": f"{digits}<extra>{name}</extra>",
    }
