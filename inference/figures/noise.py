"""Figures of a machine over time: its noise, clock, rate of measurements, and states.

`noise_over_time` is a plotly figure; `trust_picture` has strips that the server draws as SVG.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json, figure_json

MAX_POINTS = 400
"""Points of a figure at most; more readings are merged to the medians of their numbers."""

SHADED = {"contended": "disturbed", "unfit": "cannot measure", "measuring": "measuring"}
"""{state: label} of states with a shade, the worst first."""

_SILENT_STEPS = 5  # usual steps without a reading that count as a gap: the agent was not connected
_MIN_GAP = timedelta(seconds=60)
_NOISE, _CLOCK = LIGHT[0], LIGHT[1]

_DOT = 5
"""Pixels of the dot for a reading between two gaps, which has no line."""

WIDTH, HEIGHT = 1000, 60
"""Units of every strip's SVG; the page stretches it."""

_POINTS = 300
_HEADROOM = 1.1


@dataclass(frozen=True)
class NoiseReading:
    """A machine at one time; `noise` is a fraction, `ghz` its clock, `rate` settled experiments per second.

    Each number is None where it was not reported.
    """

    at: datetime
    state: str
    noise: float | None = None
    ghz: float | None = None
    rate: float | None = None


def noise_over_time(readings: Sequence[NoiseReading]) -> Json:
    """A plotly figure of readings in order: noise in per cent above, the clock in GHz below, states shaded.

    A shade is a shape whose `name` is the state; the page sets its colour.
    """
    points = downsample(readings, MAX_POINTS)
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


def downsample(readings: Sequence[NoiseReading], limit: int) -> list[NoiseReading]:
    """At most `limit` readings: successive ones are merged to their medians and their worst state."""
    if len(readings) <= limit:
        return list(readings)
    edges = [round(position * len(readings) / limit) for position in range(limit + 1)]
    return [_merge_readings(readings[low:high]) for low, high in pairwise(edges)]


def _merge_readings(readings: Sequence[NoiseReading]) -> NoiseReading:
    noises = [reading.noise for reading in readings if reading.noise is not None]
    clocks = [reading.ghz for reading in readings if reading.ghz is not None]
    rates = [reading.rate for reading in readings if reading.rate is not None]
    return NoiseReading(
        at=readings[len(readings) // 2].at,
        state=min((reading.state for reading in readings), key=_goodness),
        noise=statistics.median(noises) if noises else None,
        ghz=statistics.median(clocks) if clocks else None,
        rate=statistics.median(rates) if rates else None,
    )


def _goodness(state: str) -> int:
    order = list(SHADED)
    return order.index(state) if state in order else len(order)


@dataclass(frozen=True)
class Span:
    state: str
    start: datetime
    end: datetime


def spans(readings: Sequence[NoiseReading]) -> list[Span]:
    """The intervals in shaded states, each up to the next reading or gap."""
    stretches: list[Span] = []
    longest = longest_step(readings)
    usual = longest / _SILENT_STEPS
    for here, after in zip(readings, [*readings[1:], None], strict=True):
        near = after is not None and after.at - here.at <= longest
        end = after.at if near and after is not None else here.at + usual
        if here.state not in SHADED:
            continue
        if stretches and stretches[-1].state == here.state and stretches[-1].end == here.at:
            stretches[-1] = Span(here.state, stretches[-1].start, end)
        else:
            stretches.append(Span(here.state, here.at, end))
    return stretches


def longest_step(readings: Sequence[NoiseReading]) -> timedelta:
    """The longest time between two readings that is not a gap."""
    steps = [(later.at - earlier.at).total_seconds() for earlier, later in pairwise(readings)]
    usual = timedelta(seconds=statistics.median(steps)) if steps else timedelta()
    return max(_MIN_GAP, _SILENT_STEPS * usual)


Column = list[float | None]


def _columns(readings: Sequence[NoiseReading]) -> tuple[list[str], Column, Column, list[str]]:
    """(times, noises, clocks, labels) with an empty entry in every gap, so that no line crosses it."""
    times: list[str] = []
    noises: Column = []
    clocks: Column = []
    words: list[str] = []
    longest = longest_step(readings)
    previous: datetime | None = None
    for reading in readings:
        if previous is not None and reading.at - previous > longest:
            times.append((previous + longest / 2).isoformat())
            noises.append(None)
            clocks.append(None)
            words.append("")
        times.append(reading.at.isoformat())
        noises.append(reading.noise)
        clocks.append(reading.ghz)
        words.append(SHADED.get(reading.state, reading.state))
        previous = reading.at
    return times, noises, clocks, words


def _dots(values: Column) -> list[int]:
    return [
        _DOT if here is not None and before is None and after is None else 0
        for before, here, after in zip([None, *values[:-1]], values, [*values[1:], None], strict=True)
    ]


def _line(times: list[str], values: Column, words: list[str], axis: str) -> Json:
    noise = axis == "y"
    template = "%{y:.2f} % noise" if noise else "%{y:.2f} GHz"
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
        "hovertemplate": f"{template}{', %{text}' if noise else ''}<extra></extra>",
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


@dataclass(frozen=True)
class Shade:
    """An interval in a shaded state, in units of the strip."""

    state: str
    x: float
    width: float


@dataclass(frozen=True)
class Strip:
    """One number over time: `path` is an SVG path with 0 at the bottom; `most`: maximum, `typical`:
    median."""

    label: str
    unit: str
    path: str
    most: float
    typical: float


@dataclass(frozen=True)
class TrustPicture:
    """Strips over the same interval, with the shades behind each."""

    start: datetime
    end: datetime
    strips: tuple[Strip, ...]
    shades: tuple[Shade, ...]


def trust_picture(readings: Sequence[NoiseReading]) -> TrustPicture | None:
    """Strips of readings in order; None without readings. A number that was never reported has no strip."""
    if not readings:
        return None
    points = downsample(readings, _POINTS)
    start, end = points[0].at, points[-1].at
    strips = (
        _strip("Noise", "%", points, [None if p.noise is None else 100 * p.noise for p in points]),
        _strip("Clock", "GHz", points, [p.ghz for p in points]),
        _strip("Settled", "per second", points, [p.rate for p in points]),
    )
    shades = tuple(_shade_of(span, start, end) for span in spans(points) if span.state != "measuring")
    return TrustPicture(start, end, tuple(strip for strip in strips if strip is not None), shades)


def disturbed_spans(readings: Sequence[NoiseReading], limit: int) -> list[Span]:
    """The last `limit` intervals in which the machine was disturbed, newest first."""
    stretches = [span for span in spans(readings) if span.state == "contended"] if readings else []
    return stretches[: -limit - 1 : -1]


def disturbed_by_hour(readings: Sequence[NoiseReading]) -> list[tuple[int, int, float | None]]:
    """(hour of the day, number of readings, disturbed share) for 24 hours; the share is None without
    readings."""
    count, bad = [0] * 24, [0] * 24
    for reading in readings:
        count[reading.at.hour] += 1
        bad[reading.at.hour] += reading.state == "contended"
    return [(hour, n, bad[hour] / n if n else None) for hour, n in enumerate(count)]


def _strip(
    label: str, unit: str, points: Sequence[NoiseReading], values: Sequence[float | None]
) -> Strip | None:
    numbers = sorted(value for value in values if value is not None)
    if not numbers:
        return None
    maximum = _HEADROOM * numbers[-1] or 1.0
    gap = longest_step(points)
    parts: list[str] = []
    previous: datetime | None = None
    for point, value in zip(points, values, strict=True):
        if value is None:
            previous = None
            continue
        joined = previous is not None and point.at - previous <= gap
        x, y = _x(point.at, points[0].at, points[-1].at), HEIGHT * (1 - value / maximum)
        parts.append(f"{'L' if joined else 'M'}{x:.1f},{y:.1f}{'' if joined else 'h0.1'}")
        previous = point.at
    return Strip(label, unit, "".join(parts), numbers[-1], numbers[len(numbers) // 2])


def _shade_of(span: Span, start: datetime, end: datetime) -> Shade:
    left, right = _x(span.start, start, end), min(float(WIDTH), _x(span.end, start, end))
    return Shade(span.state, round(left, 1), round(max(2.0, right - left), 1))


def _x(at: datetime, start: datetime, end: datetime) -> float:
    duration = (end - start).total_seconds() or 1.0
    return WIDTH * (at - start).total_seconds() / duration
