"""Heat maps that are drawn small, bin by bin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from inference.figures.heatmap import HeatMap


@dataclass(frozen=True)
class DeviationBin:
    """A bin of the map that is not empty, counted from the top left; `shade` from 1 to `SHADES`."""

    x: int
    y: int
    shade: int
    title: str


def cells_of(drawn: HeatMap, across: str = "here", upwards: str = "there") -> list[DeviationBin]:
    """The bins of a map to be drawn small; `across` and `upwards` name the axes in words."""
    return list(_cells(drawn, across, upwards))


def _cells(drawn: HeatMap, across: str, upwards: str) -> Iterator[DeviationBin]:
    peak = drawn.peak
    for row, counts in enumerate(drawn.counts):
        for column, count in enumerate(counts):
            if count:
                share = math.log(1 + count) / math.log(1 + peak)
                title = f"{count:,}: {across} {drawn.bounds(column)}, {upwards} {drawn.bounds(row)}"
                yield DeviationBin(column, drawn.bins - 1 - row, max(1, math.ceil(SHADES * share)), title)


SHADES = 8
