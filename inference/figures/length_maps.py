"""Heat maps of the same predictions by the length of the experiments (thesis Figure 3.7).

A row of panels has axes of its own, since long experiments take fewer cycles per instruction, but all bins
are equally wide, and the panels share one scale of colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.metrics import Scores, score
from inference.core.protocols import Json
from inference.figures.heatmap import BINS, BinCounts, HeatMap
from inference.figures.reach import Reach

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
