"""What is listed beside a heat map: its worst predictions, those of each bin, and what other tools score.

Found when an evaluation is made, of which it is a part, so that no page has to look at every measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from inference.core.metrics import Scores
from inference.figures.heatmap import HeatMap

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

LISTED = 50
"""Measurements that a list names: at most so many for each of the bins, whatever the size of the set."""


@dataclass(frozen=True)
class ToolScores:
    """How well another tool's answers, which came with a set, agree with its measurements."""

    tool: str
    scores: Scores
    skipped: int


@dataclass(frozen=True)
class Listing:
    """Ids of measurements' rows, the largest relative error first, and the scores of tools.

    `worst`: the `LISTED` worst of all; `bins`: of each (row, column) of the heat map that has any.
    """

    worst: tuple[int, ...]
    bins: Mapping[tuple[int, int], tuple[int, ...]]
    tools: tuple[ToolScores, ...] = ()

    def beside(self, tools: Iterable[ToolScores]) -> Self:
        """The same with the scores of these tools."""
        return replace(self, tools=tuple(tools))

    def as_json(self) -> dict[str, Any]:
        """Plain data; `from_json` reads it back."""
        return {
            "worst": list(self.worst),
            "bins": {f"{row},{column}": list(ids) for (row, column), ids in self.bins.items()},
            "tools": [
                {"tool": each.tool, "skipped": each.skipped, "scores": each.scores.as_json()}
                for each in self.tools
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `as_json` gave."""
        places = {key: key.split(",") for key in data["bins"]}
        return cls(
            worst=tuple(data["worst"]),
            bins={
                (int(places[key][0]), int(places[key][1])): tuple(ids) for key, ids in data["bins"].items()
            },
            tools=tuple(
                ToolScores(each["tool"], Scores(**each["scores"]), each["skipped"]) for each in data["tools"]
            ),
        )


def listing_of(ids: Int64s, measured: Floats, predicted: Floats, heat: HeatMap) -> Listing:
    """The lists of a comparison, int64[n] and float64[n] each: by its heat map, without tools.

    Equal errors are in the order of the rows.
    """
    worst = np.argsort(-np.abs(predicted - measured) / measured, kind="stable")
    rows, columns = heat.bins_of(measured, predicted)
    places = np.where(rows < 0, -1, rows * heat.bins + columns)[worst]
    by_place = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[by_place], prepend=-1))
    bins = {}
    for start, end in pairwise([*starts.tolist(), len(places)]):
        place = int(places[by_place[start]])
        first: Sequence[int] = ids[worst[by_place[start : min(end, start + LISTED)]]].tolist()
        bins[divmod(place, heat.bins)] = tuple(first)
    return Listing(tuple(ids[worst[:LISTED]].tolist()), bins)
