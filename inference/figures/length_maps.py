"""Predictions by the length of the experiments: their error, and heat maps (thesis Figure 3.7).

Each row of panels has axes of its own, as long experiments take fewer cycles per instruction. All bins have
the same width, and all panels share one scale of colours.
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
from inference.figures.plotly_json import Json, figure_json, integer_ticks

PER_ROW = 3
MAX_PANELS = 18
_MIN_BINS, _MAX_BINS = 15, 70


@dataclass(frozen=True)
class LengthMap:
    """The experiments of one length: their heat map and scores."""

    length: int
    heat_map: HeatMap
    scores: Scores

    def as_json(self) -> Json:
        """The map as JSON for `from_json`."""
        return {"length": self.length, "heat_map": self.heat_map.as_json(), "scores": asdict(self.scores)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["length"], HeatMap.from_json(data["heat_map"]), Scores(**data["scores"]))


def length_maps(lengths: Int64s, measured: Floats, predicted: Floats) -> list[LengthMap]:
    """A panel per length, the shortest first; of more than `MAX_PANELS` lengths, those with most
    experiments.

    Args:
        lengths: Instructions per experiment, int64[n].
        measured: Finite and > 0, float64[n].
        predicted: Finite and ≥ 0, in the unit of `measured`, float64[n].
    """
    distinct, counts = np.unique(lengths, return_counts=True)
    panel_lengths = np.sort(distinct[np.argsort(-counts, kind="stable")[:MAX_PANELS]]).tolist()
    where = {length: np.flatnonzero(lengths == length) for length in panel_lengths}
    rows = [panel_lengths[start : start + PER_ROW] for start in range(0, len(panel_lengths), PER_ROW)]
    limits = [_limit([(measured[where[length]], predicted[where[length]]) for length in row]) for row in rows]
    width = _bin_width(limits)
    panels = []
    for row, limit in zip(rows, limits, strict=True):
        bins = max(1, math.ceil(limit / width - 1e-9))
        for length in row:
            xs, ys = measured[where[length]], predicted[where[length]]
            counted = BinCounts(bins * width, bins)
            counted.add(xs, ys)
            panels.append(LengthMap(length, counted.heat_map, score(xs, ys)))
    return panels


def _limit(parts: Sequence[tuple[Floats, Floats]]) -> float:
    """The end of both axes of a row of panels."""
    reach = Reach()
    for xs, ys in parts:
        reach.add(xs, ys)
    return reach.limit


def _bin_width(limits: Sequence[float]) -> float:
    """One width for all rows: 35 bins in the widest, more where the narrowest would have too few."""
    if not limits:
        return 1.0
    width = min(max(limits) / BINS, min(limits) / _MIN_BINS)
    return max(width, max(limits) / _MAX_BINS)


def length_figure(errors: Sequence[LengthError]) -> Json:
    """A plotly figure: MAPE over the number of instructions, and below it the number of experiments."""
    lengths = [length_error.length for length_error in errors]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "MAPE",
            "x": lengths,
            "y": [length_error.mape for length_error in errors],
            "marker": {"size": 8},
            "hovertemplate": "%{y:.2f} %<extra>MAPE</extra>",
            "meta": {"colour": "port-0"},
        },
        {
            "type": "bar",
            "name": "experiments",
            "x": lengths,
            "y": [length_error.n for length_error in errors],
            "yaxis": "y2",
            "marker": {"opacity": 0.6},
            "hovertemplate": "%{y:,}<extra>experiments</extra>",
            "meta": {"colour": "muted"},
        },
    ]
    layout = {
        "xaxis": {"title": {"text": "instructions per experiment"}, "anchor": "y2", **integer_ticks(lengths)},
        "yaxis": {"title": {"text": "MAPE (%)"}, "domain": [0.4, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": "experiments"}, "domain": [0, 0.3], "rangemode": "tozero"},
        "showlegend": False,
        "hovermode": "x unified",
        "bargap": 0.4,
    }
    return figure_json(traces, layout)
