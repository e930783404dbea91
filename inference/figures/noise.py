"""How quiet a machine was over time: noise of its known blocks, its clock, and the states it was in."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json, figure_json

MOST_POINTS = 400
"""A picture has no room for more; readings that fall together become one with the median of each number."""

SHADED = {"contended": "disturbed", "unfit": "cannot measure", "measuring": "measuring"}
"""States that get a shade, and what a reader calls them; the worst comes first."""

_SILENT_STEPS = 5  # so many usual steps without a reading are a gap: nobody was there
_LEAST_GAP = timedelta(seconds=60)
_NOISE, _CLOCK = LIGHT[0], LIGHT[1]


@dataclass(frozen=True)
class NoiseReading:
    """A machine at a moment; `noise` is a fraction, `ghz` its clock, `rate` the settled experiments per
    second; each None where nothing was told.
    """

    at: datetime
    state: str
    noise: float | None = None
    ghz: float | None = None
    rate: float | None = None


def noise_over_time(readings: Sequence[NoiseReading]) -> Json:
    """A plotly figure of readings in order: noise in per cent above, the clock in GHz below, states shaded.

    A shade is a shape whose `name` is the state, without a colour of its own: the page gives it one.
    """
    points = thinned(readings, MOST_POINTS)
    times, noises, clocks, words = _columns(points)
    traces = [
        _line(times, [None if value is None else 100 * value for value in noises], words, "y"),
        _line(times, clocks, words, "y2"),
    ]
    layout = {
        "xaxis": {"type": "date", "anchor": "y2", "showgrid": False},
        "yaxis": {"title": {"text": "noise (%)"}, "domain": [0.42, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": "GHz"}, "domain": [0, 0.3], "rangemode": "tozero"},
        "shapes": [_shade(span) for span in spans(points)],
        "showlegend": False,
        "hovermode": "x",
    }
    return figure_json(traces, layout)


def thinned(readings: Sequence[NoiseReading], limit: int) -> list[NoiseReading]:
    """At most `limit` readings: each run of neighbours becomes its median, in the worst of its states."""
    if len(readings) <= limit:
        return list(readings)
    edges = [round(position * len(readings) / limit) for position in range(limit + 1)]
    return [_merged(readings[low:high]) for low, high in pairwise(edges)]


def _merged(readings: Sequence[NoiseReading]) -> NoiseReading:
    noises = [each.noise for each in readings if each.noise is not None]
    clocks = [each.ghz for each in readings if each.ghz is not None]
    rates = [each.rate for each in readings if each.rate is not None]
    return NoiseReading(
        at=readings[len(readings) // 2].at,
        state=min((each.state for each in readings), key=_goodness),
        noise=statistics.median(noises) if noises else None,
        ghz=statistics.median(clocks) if clocks else None,
        rate=statistics.median(rates) if rates else None,
    )


def _goodness(state: str) -> int:
    order = list(SHADED)
    return order.index(state) if state in order else len(order)


@dataclass(frozen=True)
class Span:
    """A stretch of time in one state."""

    state: str
    start: datetime
    end: datetime


def spans(readings: Sequence[NoiseReading]) -> list[Span]:
    """The stretches in shaded states, each up to the next reading or the gap behind it."""
    found: list[Span] = []
    longest = longest_step(readings)
    usual = longest / _SILENT_STEPS
    for here, after in zip(readings, [*readings[1:], None], strict=True):
        near = after is not None and after.at - here.at <= longest
        end = after.at if near and after is not None else here.at + usual
        if here.state not in SHADED:
            continue
        if found and found[-1].state == here.state and found[-1].end == here.at:
            found[-1] = Span(here.state, found[-1].start, end)
        else:
            found.append(Span(here.state, here.at, end))
    return found


def longest_step(readings: Sequence[NoiseReading]) -> timedelta:
    """The longest time between two readings that is not a gap."""
    steps = [(later.at - earlier.at).total_seconds() for earlier, later in pairwise(readings)]
    usual = timedelta(seconds=statistics.median(steps)) if steps else timedelta()
    return max(_LEAST_GAP, _SILENT_STEPS * usual)


Column = list[float | None]


def _columns(readings: Sequence[NoiseReading]) -> tuple[list[str], Column, Column, list[str]]:
    """Times, noises, clocks and words; an empty entry stands in every gap, so that no line crosses it."""
    times: list[str] = []
    noises: Column = []
    clocks: Column = []
    words: list[str] = []
    longest = longest_step(readings)
    previous: datetime | None = None
    for each in readings:
        if previous is not None and each.at - previous > longest:
            times.append((previous + longest / 2).isoformat())
            noises.append(None)
            clocks.append(None)
            words.append("")
        times.append(each.at.isoformat())
        noises.append(each.noise)
        clocks.append(each.ghz)
        words.append(SHADED.get(each.state, each.state))
        previous = each.at
    return times, noises, clocks, words


_DOT = 5
"""Pixels of a reading with a gap on both sides, which no line shows."""


def _dots(values: Column) -> list[int]:
    return [
        _DOT if here is not None and before is None and after is None else 0
        for before, here, after in zip([None, *values[:-1]], values, [*values[1:], None], strict=True)
    ]


def _line(times: list[str], values: Column, words: list[str], axis: str) -> Json:
    noise = axis == "y"
    told = "%{y:.2f} % noise" if noise else "%{y:.2f} GHz"
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "marker": {"size": _dots(values), "color": _NOISE if noise else _CLOCK},
        "x": times,
        "y": values,
        "text": words,
        "yaxis": axis,
        "line": {"color": _NOISE if noise else _CLOCK, "width": 1.5},
        "connectgaps": False,
        "hovertemplate": f"{told}{', %{text}' if noise else ''}<extra></extra>",
    }


def _shade(span: Span) -> Json:
    return {
        "type": "rect",
        "name": span.state,
        "xref": "x",
        "yref": "paper",
        "x0": span.start.isoformat(),
        "x1": span.end.isoformat(),
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 0},
    }
