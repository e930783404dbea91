"""What is listed beside the heat map of two sets: the worst experiments of all and of each bin, and means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from inference.core.metrics import LengthError, Residuals, SchemeError
from inference.core.tables import Floats, Int64s
from inference.figures.heatmap import HeatMap

LISTED = 50
"""Measurements that a list names: at most so many for each of the bins, whatever the size of the set."""


@dataclass(frozen=True)
class WorstPredictions:
    """Ids of measurements' rows, the largest relative error first, and what sums all of them up.

    `worst`: the `LISTED` worst of all; `bins`: of each (row, column) of the heat map that has any. `lengths`
    and `schemes`: see `Residuals`; None where they were stored before there were any.
    """

    worst: tuple[int, ...]
    bins: Mapping[tuple[int, int], tuple[int, ...]]
    lengths: tuple[LengthError, ...] | None = None
    schemes: tuple[SchemeError, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain data; `from_json` reads it back."""
        return {
            "worst": list(self.worst),
            "bins": {f"{row},{column}": list(ids) for (row, column), ids in self.bins.items()},
            "lengths": lengths_json(self.lengths or ()),
            "schemes": schemes_json(self.schemes or ()),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        places = {key: key.split(",") for key in data["bins"]}
        return cls(
            worst=tuple(data["worst"]),
            bins={
                (int(places[key][0]), int(places[key][1])): tuple(ids) for key, ids in data["bins"].items()
            },
            lengths=lengths_from(data["lengths"]) if "lengths" in data else None,
            schemes=schemes_from(data["schemes"]) if "schemes" in data else None,
        )


def lengths_json(found: Iterable[LengthError]) -> list[tuple[int, int, float]]:
    """Plain data; `lengths_from` reads it back."""
    return [(each.length, each.n, each.mape) for each in found]


def lengths_from(data: Iterable[Sequence[Any]]) -> tuple[LengthError, ...]:
    return tuple(LengthError(*entry) for entry in data)


def schemes_json(found: Iterable[SchemeError]) -> list[tuple[str, int, float, float]]:
    """Plain data; `schemes_from` reads it back."""
    return [(each.scheme, each.n, each.signed, each.absolute) for each in found]


def schemes_from(data: Iterable[Sequence[Any]]) -> tuple[SchemeError, ...]:
    return tuple(SchemeError(*entry) for entry in data)


def listing_of(
    ids: Int64s, measured: Floats, predicted: Floats, heat: HeatMap, residuals: Residuals
) -> WorstPredictions:
    """The lists of a comparison, int64[n] and float64[n] each: by its heat map.

    Equal errors are in the order of the rows. `residuals` has seen the same comparison.
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
    return WorstPredictions(
        tuple(ids[worst[:LISTED]].tolist()), bins, lengths=residuals.by_length, schemes=residuals.by_scheme
    )
