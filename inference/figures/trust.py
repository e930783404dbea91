"""How far a machine could be trusted over time: strips of noise, clock and rate that the server draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from inference.figures.noise import NoiseReading, Span, longest_step, spans, thinned

WIDTH, HEIGHT = 1000, 60
"""Units of every strip's picture; the page stretches it."""

_POINTS = 300
_HEADROOM = 1.1


@dataclass(frozen=True)
class Shade:
    """A stretch in a state that is shaded, in units of the picture."""

    state: str
    x: float
    width: float


@dataclass(frozen=True)
class Strip:
    """One number over time: `path` is SVG's, from 0 at the bottom up; `typical` its median."""

    label: str
    unit: str
    path: str
    most: float
    typical: float


@dataclass(frozen=True)
class TrustPicture:
    """Strips over the same time, with what is shaded behind each."""

    start: datetime
    end: datetime
    strips: tuple[Strip, ...]
    shades: tuple[Shade, ...]


def trust_picture(readings: Sequence[NoiseReading]) -> TrustPicture | None:
    """Strips of readings in order; None without any. A number that was never told has no strip."""
    if not readings:
        return None
    points = thinned(readings, _POINTS)
    start, end = points[0].at, points[-1].at
    drawn = (
        _strip("Noise", "%", points, [None if p.noise is None else 100 * p.noise for p in points]),
        _strip("Clock", "GHz", points, [p.ghz for p in points]),
        _strip("Settled", "per second", points, [p.rate for p in points]),
    )
    shades = tuple(_shade(span, start, end) for span in spans(points) if span.state != "measuring")
    return TrustPicture(start, end, tuple(strip for strip in drawn if strip is not None), shades)


def disturbed_spans(readings: Sequence[NoiseReading], limit: int) -> list[Span]:
    """The last stretches in which the machine was disturbed, newest first."""
    found = [span for span in spans(readings) if span.state == "contended"] if readings else []
    return found[: -limit - 1 : -1]


def disturbed_by_hour(readings: Sequence[NoiseReading]) -> list[tuple[int, int, float | None]]:
    """(hour of the day, its readings, share that was disturbed) of all 24, None where there is no reading."""
    count, bad = [0] * 24, [0] * 24
    for each in readings:
        count[each.at.hour] += 1
        bad[each.at.hour] += each.state == "contended"
    return [(hour, n, bad[hour] / n if n else None) for hour, n in enumerate(count)]


def _strip(
    label: str, unit: str, points: Sequence[NoiseReading], values: Sequence[float | None]
) -> Strip | None:
    told = sorted(value for value in values if value is not None)
    if not told:
        return None
    most = _HEADROOM * told[-1] or 1.0
    gap = longest_step(points)
    parts: list[str] = []
    previous: datetime | None = None
    for point, value in zip(points, values, strict=True):
        if value is None:
            previous = None
            continue
        joined = previous is not None and point.at - previous <= gap
        x, y = _x(point.at, points[0].at, points[-1].at), HEIGHT * (1 - value / most)
        parts.append(f"{'L' if joined else 'M'}{x:.1f},{y:.1f}{'' if joined else 'h0.1'}")
        previous = point.at
    return Strip(label, unit, "".join(parts), told[-1], told[len(told) // 2])


def _shade(span: Span, start: datetime, end: datetime) -> Shade:
    left, right = _x(span.start, start, end), min(float(WIDTH), _x(span.end, start, end))
    return Shade(span.state, round(left, 1), round(max(2.0, right - left), 1))


def _x(at: datetime, start: datetime, end: datetime) -> float:
    whole = (end - start).total_seconds() or 1.0
    return WIDTH * (at - start).total_seconds() / whole
