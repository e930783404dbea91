"""Figures of an evolution: curves over generations and sweeps, its population and its Pareto front."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.pmevo.events import MAX_CLOUD_POINTS
from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json, figure_json, integer_ticks

_BEST, _MEAN = LIGHT[0], LIGHT[1]

MIN_ERROR = 1e-3
"""Per cent: smaller errors are shown as this, as a logarithmic axis has no zero."""

_SMALLEST, _LARGEST = 9, 24  # diameters of a front's points in pixels


def fitness_curve(generations: Iterable[Mapping[str, Any]], minimised: str = "error") -> Json:
    """A plotly figure: error above, µop volume below, best and mean of the population over generations.

    Each generation is {"generation", "best_error", "mean_error", "best_volume", "mean_volume"}; errors are
    fractions, shown in per cent. `minimised`: their name, "error" or "loss".
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

    Each sweep is {"start", "sweep", "changed", "error", "volume", "kinds"}; errors are fractions, shown in
    per cent. `start`: number of the independent re-fit, from 0.
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
        "xaxis": {"title": {"text": "sweep"}, "anchor": "y2", **integer_ticks(numbers)},
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


def cloud_figure(frames: Sequence[Json], minimised: str = "error") -> Json:
    """A plotly figure of the newest population, with the path of the fittest mapping through all frames.

    Frames are payloads of `cloud` events: {"generation", "population", "errors", "volumes"}, fittest first,
    errors as fractions, shown in per cent; `minimised`: their name. Both axes are logarithmic.
    """
    newest: Json = frames[-1] if frames else {"errors": [], "volumes": []}
    populated = [frame for frame in frames if frame["errors"]]
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "path of the fittest",
            "x": [frame["volumes"][0] for frame in populated],
            "y": [error_percent(frame["errors"][0]) for frame in populated],
            "line": {"width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
            "meta": {"colour": "muted"},
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "population",
            **cloud_points(newest),
            "marker": {"size": 7, "opacity": 0.55},
            "hovertemplate": f"{minimised} %{{y:.3~g}} %, volume %{{x:,}}<extra></extra>",
            "meta": {"colour": "port-0"},
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "fittest",
            **{axis: values[:1] for axis, values in cloud_points(newest).items()},
            "marker": {"size": 13, "symbol": "circle-open", "line": {"width": 2.5}},
            "hovertemplate": f"fittest: {minimised} %{{y:.3~g}} %, volume %{{x:,}}<extra></extra>",
            "meta": {"colour": "port-3"},
        },
    ]
    layout = {
        "xaxis": {"title": {"text": "volume (µops × ports)"}, "type": "log", "nticks": 6},
        "yaxis": {"title": {"text": f"{minimised} (%)"}, "type": "log", "nticks": 6},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
    }
    return figure_json(traces, layout)


def cloud_points(frame: Json) -> Json:
    """{"x", "y"}: volumes and errors in per cent of a population, for the traces of `cloud_figure`."""
    limit = slice(0, MAX_CLOUD_POINTS)
    return {"x": frame["volumes"][limit], "y": [error_percent(error) for error in frame["errors"][limit]]}


def error_percent(error: float) -> float:
    """A fraction in per cent, at least `MIN_ERROR`, for a logarithmic axis."""
    return max(MIN_ERROR, round(100 * error, 4))


@dataclass(frozen=True)
class FrontPlotPoint:
    """A point of a front: `error` in per cent; `mape` on held-out experiments, None where there are none."""

    kinds: int
    volume: int
    error: float
    mape: float | None


def front_figure(points: Iterable[FrontPlotPoint]) -> Json:
    """A plotly figure: error over the number of µop kinds, the volume as the area and shade of a point.

    The first trace has the points in their order; another has their MAPE on held-out experiments, and a line
    connects the best for each number of kinds.
    """
    plotted = list(points)
    volumes = [point.volume for point in plotted]
    low, high = min(volumes, default=0), max(volumes, default=1)
    traces: list[Json] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "error on training experiments",
            "x": [point.kinds for point in plotted],
            "y": [point.error for point in plotted],
            "customdata": volumes,
            "marker": {
                "size": [_size(volume, low, high) for volume in volumes],
                "opacity": 0.85,
                "color": volumes,
                "colorscale": "Viridis",
                "cmin": low,
                "cmax": high if high > low else low + 1,
                "colorbar": {"title": {"text": "volume"}},
            },
            "hovertemplate": "%{x} kinds, volume %{customdata:,}<br>error %{y:.2f} %<extra></extra>",
            "meta": {"colour": "muted"},
        }
    ]
    judged = [point for point in plotted if point.mape is not None]
    if judged:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "MAPE on held-out experiments",
                "x": [point.kinds for point in judged],
                "y": [point.mape for point in judged],
                "marker": {"symbol": "x-thin", "size": 8, "line": {"width": 1.75}},
                "hovertemplate": "%{x} kinds<br>MAPE %{y:.2f} %<extra></extra>",
                "meta": {"colour": "port-3"},
            }
        )
    traces.append(_envelope(plotted))
    layout = {
        "xaxis": {"title": {"text": "distinct µops"}},
        "yaxis": {"title": {"text": "error (%)"}, "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "showlegend": True,
    }
    return figure_json(traces, layout)


def _envelope(points: Sequence[FrontPlotPoint]) -> Json:
    """A line through the points that are more accurate than all with fewer or equally many kinds."""
    best: list[FrontPlotPoint] = []
    for point in sorted(points, key=lambda point: (point.kinds, point.error)):
        if not best or point.error < best[-1].error:
            best.append(point)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [point.kinds for point in best],
        "y": [point.error for point in best],
        "line": {"width": 1},
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"colour": "muted"},
    }


def _size(volume: int, low: int, high: int) -> float:
    """Diameter in pixels of a point whose area grows linearly with the volume."""
    share = (volume - low) / (high - low) if high > low else 0.0
    return round(float((_SMALLEST**2 + share * (_LARGEST**2 - _SMALLEST**2)) ** 0.5), 1)
