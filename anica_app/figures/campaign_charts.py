"""Data of a campaign's figures: bars of its rounds, and its families as a squarified treemap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_PLACES, MAX_BARS = 40, 120
WIDTH, HEIGHT = 120.0, 30.0


@dataclass(frozen=True)
class RoundBar:
    """One round, or several that share a bar: `first` and `last` number, and the rectangle in the chart."""

    first: int
    last: int
    sampled: int
    interesting: int
    x: float
    y: float
    width: float
    height: float

    @property
    def share(self) -> float:
        """Share of the sampled blocks that is interesting."""
        return self.interesting / self.sampled if self.sampled else 0.0


@dataclass(frozen=True)
class RoundsChart:
    """All bars; `top` is the share at the upper edge, `mean` the share over all rounds."""

    bars: tuple[RoundBar, ...]
    top: float
    mean: float

    @property
    def mean_y(self) -> float:
        """The height of the line of the mean, from the top."""
        return HEIGHT * (1 - self.mean / self.top)


def rounds_chart(rounds: Sequence[tuple[int, int, int]]) -> RoundsChart | None:
    """The bars of rounds, given as (number, sampled, interesting) in order; None without blocks.

    More than `MAX_BARS` rounds share bars.
    """
    sampled = sum(n for _, n, _ in rounds)
    if not sampled:
        return None
    step = -(-len(rounds) // MAX_BARS)
    groups = [rounds[at : at + step] for at in range(0, len(rounds), step)]
    counted = [(g[0][0], g[-1][0], sum(n for _, n, _ in g), sum(i for _, _, i in g)) for g in groups]
    top = _round_up(max(i / n for _, _, n, i in counted if n))
    width = WIDTH / max(MIN_PLACES, len(counted))
    bars = []
    for at, (first, last, n, interesting) in enumerate(counted):
        height = HEIGHT * (interesting / n if n else 0.0) / top
        bars.append(RoundBar(first, last, n, interesting, at * width, HEIGHT - height, 0.85 * width, height))
    return RoundsChart(tuple(bars), top, sum(i for _, _, i in rounds) / sampled)


def _round_up(share: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 and 100 per cent."""
    return next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if share <= top), 1.0)


@dataclass(frozen=True, slots=True)
class TreemapCell:
    """The rectangle of one size, by its place among the sizes, in per cent of the figure's sides."""

    place: int
    x: float
    y: float
    width: float
    height: float


def treemap(sizes: Sequence[float]) -> list[TreemapCell]:
    """Rectangles that fill the figure, nearly square, by the greedy algorithm of Bruls et al.

    In the order of sizes, the largest first; sizes of 0 have none.
    """
    order = sorted((at for at, size in enumerate(sizes) if size > 0), key=lambda at: (-sizes[at], at))
    width, height, total = WIDTH, HEIGHT, sum(sizes[at] for at in order)
    areas = [(at, sizes[at] * width * height / total) for at in order]
    cells: list[TreemapCell] = []
    x = y = 0.0
    while areas:
        short = min(width, height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], short) <= _worst(areas[:count], short):
            count += 1
        row, areas = areas[:count], areas[count:]
        thick = sum(area for _, area in row) / short if short else 0.0
        along = 0.0
        for at, area in row:
            long = area / thick if thick else 0.0
            upright = width >= height
            cell = (x, y + along, thick, long) if upright else (x + along, y, long, thick)
            left, top, across, down = (100 * side for side in cell)
            cells.append(TreemapCell(at, left / WIDTH, top / HEIGHT, across / WIDTH, down / HEIGHT))
            along += long
        if width >= height:
            x, width = x + thick, width - thick
        else:
            y, height = y + thick, height - thick
    return cells


def _worst(row: Sequence[tuple[int, float]], short: float) -> float:
    """The largest ratio of sides in a row of these areas along the short side."""
    total = sum(area for _, area in row)
    largest, smallest = max(area for _, area in row), min(area for _, area in row)
    return max(short**2 * largest / total**2, total**2 / (short**2 * smallest))
