"""Predictions by the length of the experiments: their error, and heat maps (thesis Figure 3.7).

A row of panels has axes of its own, since long experiments take fewer cycles per instruction, but all bins
are equally wide, and the panels share one scale of colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from inference.core.metrics import LengthError, Scores, score
from inference.core.tables import Floats, Int64s
from inference.figures.heatmap import BINS, BinCounts, HeatMap, Reach
from inference.figures.plotly_json import Json, figure_json, whole_ticks

PER_ROW = 3
MOST_PANELS = 18
_FEWEST_BINS, _MOST_BINS = 15, 70


@dataclass(frozen=True)
class LengthMap:
    """The experiments of one length: their heat map and scores."""

    length: int
    heat_map: HeatMap
    scores: Scores

    def as_json(self) -> Json:
        """Plain data; `from_json` reads it back."""
        return {"length": self.length, "heat_map": self.heat_map.as_json(), "scores": asdict(self.scores)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        return cls(told["length"], HeatMap.from_json(told["heat_map"]), Scores(**told["scores"]))


def length_maps(lengths: Int64s, measured: Floats, predicted: Floats) -> list[LengthMap]:
    """A panel per length, the shortest first; of more than `MOST_PANELS` lengths those with most experiments.

    Three arrays of the same size; measurements > 0 and predictions ≥ 0 in one unit, both finite.
    """
    known, counts = np.unique(lengths, return_counts=True)
    shown = np.sort(known[np.argsort(-counts, kind="stable")[:MOST_PANELS]]).tolist()
    where = {length: np.flatnonzero(lengths == length) for length in shown}
    rows = [shown[start : start + PER_ROW] for start in range(0, len(shown), PER_ROW)]
    limits = [_limit([(measured[where[length]], predicted[where[length]]) for length in row]) for row in rows]
    width = _bin_width(limits)
    panels = []
    for row, limit in zip(rows, limits, strict=True):
        bins = max(1, math.ceil(limit / width - 1e-9))
        for length in row:
            seen, said = measured[where[length]], predicted[where[length]]
            counted = BinCounts(bins * width, bins)
            counted.add(seen, said)
            panels.append(LengthMap(length, counted.heat_map, score(seen, said)))
    return panels


def _limit(parts: Sequence[tuple[Floats, Floats]]) -> float:
    """Where the axes of a row of panels end."""
    reach = Reach()
    for seen, said in parts:
        reach.add(seen, said)
    return reach.limit


def _bin_width(limits: Sequence[float]) -> float:
    """One width for all rows: 35 bins in the widest, more where the narrowest would have too few."""
    if not limits:
        return 1.0
    width = min(max(limits) / BINS, min(limits) / _FEWEST_BINS)
    return max(width, max(limits) / _MOST_BINS)


def length_figure(errors: Sequence[LengthError]) -> Json:
    """A plotly figure: MAPE over the number of instructions, and below it the number of experiments."""
    lengths = [each.length for each in errors]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "MAPE",
            "x": lengths,
            "y": [each.mape for each in errors],
            "marker": {"size": 8},
            "hovertemplate": "%{y:.2f} %<extra>MAPE</extra>",
            "meta": {"colour": "port-0"},
        },
        {
            "type": "bar",
            "name": "experiments",
            "x": lengths,
            "y": [each.n for each in errors],
            "yaxis": "y2",
            "marker": {"opacity": 0.6},
            "hovertemplate": "%{y:,}<extra>experiments</extra>",
            "meta": {"colour": "muted"},
        },
    ]
    layout = {
        "xaxis": {"title": {"text": "instructions per experiment"}, "anchor": "y2", **whole_ticks(lengths)},
        "yaxis": {"title": {"text": "MAPE (%)"}, "domain": [0.4, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": "experiments"}, "domain": [0, 0.3], "rangemode": "tozero"},
        "showlegend": False,
        "hovermode": "x unified",
        "bargap": 0.4,
    }
    return figure_json(traces, layout)
