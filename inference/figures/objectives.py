"""Port mappings in the plane of their objectives: a population of an evolution, and the Pareto front."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference.core.pmevo.events import MOST_IN_CLOUD
from inference.figures.plotly_json import Json, figure_json

LEAST_ERROR = 1e-3
"""Per cent: errors below are drawn there, since a logarithmic axis has no zero."""

_SMALLEST, _LARGEST = 9, 24  # px, of a front's points


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
