"""Parts of a whole as rectangles: squarified, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 120.0, 30.0


@dataclass(frozen=True, slots=True)
class TreemapCell:
    """The rectangle of a part, by its place among the sizes, in per cent of the picture's sides."""

    place: int
    x: float
    y: float
    width: float
    height: float


def treemap(sizes: Sequence[float]) -> list[TreemapCell]:
    """Rectangles that fill the whole picture, as square as the greedy algorithm of Bruls et al. makes them.

    Parts of size 0 have none. In the order of their sizes.
    """
    order = sorted((at for at, size in enumerate(sizes) if size > 0), key=lambda at: (-sizes[at], at))
    width, height, total = WIDTH, HEIGHT, sum(sizes[at] for at in order)
    areas = [(at, sizes[at] * width * height / total) for at in order]
    found: list[TreemapCell] = []
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
            found.append(TreemapCell(at, left / WIDTH, top / HEIGHT, across / WIDTH, down / HEIGHT))
            along += long
        if width >= height:
            x, width = x + thick, width - thick
        else:
            y, height = y + thick, height - thick
    return found


def _worst(row: Sequence[tuple[int, float]], short: float) -> float:
    """The largest ratio of the sides of a rectangle where these share a row along the short side."""
    total = sum(area for _, area in row)
    most, least = max(area for _, area in row), min(area for _, area in row)
    return max(short**2 * most / total**2, total**2 / (short**2 * least))
