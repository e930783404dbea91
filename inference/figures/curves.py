"""An evolution in pictures: curves over generations and sweeps, its population and the Pareto front."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.pmevo.events import MOST_IN_CLOUD
from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json, figure_json, whole_ticks

_BEST, _MEAN = LIGHT[0], LIGHT[1]

LEAST_ERROR = 1e-3
"""Per cent: errors below are drawn there, since a logarithmic axis has no zero."""

_SMALLEST, _LARGEST = 9, 24  # px, of a front's points


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


def cloud_figure(frames: Sequence[Json], minimised: str = "error") -> Json:
    """A plotly figure of the newest population, on axes that hold those of all frames, with the way there.

    Frames are payloads of `cloud` events: {"generation", "population", "errors", "volumes"}, fittest first,
    errors as fractions, drawn in per cent; `minimised` is what they are called. Both axes are logarithmic.
    """
    newest: Json = frames[-1] if frames else {"errors": [], "volumes": []}
    told = [frame for frame in frames if frame["errors"]]
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "way of the fittest",
            "x": [frame["volumes"][0] for frame in told],
            "y": [shown_error(frame["errors"][0]) for frame in told],
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
    kept = slice(0, MOST_IN_CLOUD)
    return {"x": frame["volumes"][kept], "y": [shown_error(error) for error in frame["errors"][kept]]}


def shown_error(error: float) -> float:
    """A fraction in per cent, as far as a logarithmic axis can show it."""
    return max(LEAST_ERROR, round(100 * error, 4))


@dataclass(frozen=True)
class DrawnPoint:
    """A point of a front: errors in per cent, `mape` on what was not learnt from where that is known."""

    kinds: int
    volume: int
    error: float
    mape: float | None


def front_figure(points: Iterable[DrawnPoint]) -> Json:
    """A plotly figure: error over the number of µop kinds, the volume as the area and shade of a point.

    The points of the first trace are those given, in their order; another has their errors on what was not
    learnt from, and a line leads along the best for each number of kinds.
    """
    shown = list(points)
    volumes = [point.volume for point in shown]
    low, high = min(volumes, default=0), max(volumes, default=1)
    traces: list[Json] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "on experiments learnt from",
            "x": [point.kinds for point in shown],
            "y": [point.error for point in shown],
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
    judged = [point for point in shown if point.mape is not None]
    if judged:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "MAPE on those not learnt from",
                "x": [point.kinds for point in judged],
                "y": [point.mape for point in judged],
                "marker": {"symbol": "x-thin", "size": 8, "line": {"width": 1.75}},
                "hovertemplate": "%{x} kinds<br>MAPE %{y:.2f} %<extra></extra>",
                "meta": {"colour": "port-3"},
            }
        )
    traces.append(_envelope(shown))
    layout = {
        "xaxis": {"title": {"text": "distinct µops"}},
        "yaxis": {"title": {"text": "error (%)"}, "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "showlegend": True,
    }
    return figure_json(traces, layout)


def _envelope(points: Sequence[DrawnPoint]) -> Json:
    """A line through the points that are the most accurate of those with as many kinds or fewer."""
    best: list[DrawnPoint] = []
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
    """Points whose areas grow evenly with the volume."""
    share = (volume - low) / (high - low) if high > low else 0.0
    return round(float((_SMALLEST**2 + share * (_LARGEST**2 - _SMALLEST**2)) ** 0.5), 1)
