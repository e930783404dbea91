"""Predicted against measured as a two-dimensional histogram (thesis §5.2): 35 × 35 equal bins.

A million experiments become 1,225 numbers. The axes end where nearly all experiments are inside; the number
of those beyond is shown.

Experiments may come in parts: a first pass (`Reach`) finds the end of the axes, a second one (`BinCounts`)
counts. Both hold a fixed number of integers, and their results do not depend on the parts or the order of
merging. `heat_map` does both for complete lists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.experiment import Unit
from inference.core.tables import Floats
from inference.figures.plotly_json import Json, figure_json

PART = 1 << 16
"""Experiments per step: the temporary arrays of a step fit the cache."""

COVERED = 0.995
"""Share of the experiments that the axes must reach."""

_LIMITS = (1e-3, 1e300)
"""Axes end between these, so that scaling to bins does not under- or overflow."""

_STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
_ENDS = np.array(sorted({step * 10.0**power for power in range(-3, 300) for step in _STEPS} | set(_LIMITS)))
"""The round numbers that axes may end at, ascending; from 10²² on, round but for the last bit."""


class Reach:
    """Counts of experiments by the smallest axis end that includes them."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(_ENDS), dtype=np.int64)

    def add(self, measured: npt.ArrayLike, predicted: npt.ArrayLike) -> None:
        """Count more experiments; see `heat_map` for their values."""
        xs, ys = validated_points(measured, predicted)
        for start in range(0, len(xs), PART):
            part = slice(start, start + PART)
            largest = np.maximum(xs[part], ys[part])
            finite = np.clip(largest[np.isfinite(largest) & (largest > 0)], *_LIMITS)
            self._counts += np.bincount(np.searchsorted(_ENDS, finite), minlength=len(_ENDS))

    def merge(self, other: Reach) -> None:
        self._counts += other._counts

    @property
    def limit(self) -> float:
        """The axis end that includes all experiments or, with a few outliers, `COVERED` of them; 1 without
        any."""
        n = int(self._counts.sum())
        if not n:
            return 1.0
        upto = np.cumsum(self._counts)
        farthest = float(_ENDS[np.searchsorted(upto, n)])
        upper_end = float(_ENDS[np.searchsorted(upto, math.ceil((n - 1) * COVERED) + 1)])
        return farthest if farthest <= 1.5 * upper_end else upper_end


def validated_points(measured: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Measured and predicted times as arrays, float64[n] each.

    Raises:
        InvalidInputError: Their lengths differ, a measurement is negative or not finite, or a prediction is
            negative.
    """
    xs = np.asarray(measured, dtype=np.float64)
    ys = np.asarray(predicted, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape:
        raise InvalidInputError(f"a heat map needs two equally long lists, not {xs.shape} and {ys.shape}")
    if not (np.all(np.isfinite(xs) & (xs >= 0)) and np.all(ys >= 0)):
        raise InvalidInputError("a heat map needs finite measurements ≥ 0 and predictions ≥ 0")
    return xs, ys


BINS = 35

_TICKS = tuple(digit * 10**power for power in range(9) for digit in (1, 3))

_PLAIN = 1e6
"""Axis ends from which bounds are written with an exponent."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeatMap:
    """`counts[row][column]` experiments with a prediction in bin `row` and a measurement in bin `column`.

    Bin k covers `k · limit / bins ≤ value < (k + 1) · limit / bins` on both axes, the last one its upper end
    too. `outside` experiments lie beyond `limit` on an axis; `n` counts all of them, so `n == outside + sum
    of counts`.
    """

    bins: int
    limit: float
    n: int
    outside: int
    counts: tuple[tuple[int, ...], ...]

    def as_json(self) -> Json:
        """The map as JSON for `from_json`."""
        return {
            "bins": self.bins,
            "limit": self.limit,
            "n": self.n,
            "outside": self.outside,
            "counts": [list(row) for row in self.counts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            bins=data["bins"],
            limit=data["limit"],
            n=data["n"],
            outside=data["outside"],
            counts=tuple(tuple(row) for row in data["counts"]),
        )

    def bins_of(self, measured: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Indices, Indices]:
        """(rows, columns) of experiments, both -1 for one outside: int64[n] each.

        Rows are of predictions, columns of measurements.
        """
        return bins_of(measured, predicted, limit=self.limit, bins=self.bins)

    def edges(self, index: int) -> tuple[float, float]:
        """Lower and upper end of a row or column."""
        if not 0 <= index < self.bins:
            raise InvalidInputError(f"a heat map has bins 0 to {self.bins - 1}, not {index}")
        return index * self.limit / self.bins, (index + 1) * self.limit / self.bins

    def bounds(self, index: int) -> str:
        """The ends of a row or column, e.g. "1.80 to 2.06", with enough digits to distinguish neighbours."""
        digits = max(2, -math.floor(math.log10(self.limit / self.bins)))
        form = f",.{digits}f" if self.limit < _PLAIN else ".4g"
        lower, upper = self.edges(index)
        return f"{lower:{form}} to {upper:{form}}"

    @property
    def peak(self) -> int:
        return max((count for row in self.counts for count in row), default=0)

    def figure(
        self,
        unit: Unit | str = Unit.CYCLES,
        *,
        peak: int | None = None,
        linear: bool = False,
        axes: tuple[str, str] = ("measured", "predicted"),
    ) -> Json:
        """A plotly figure: colours by count, the diagonal, and a note where experiments lie outside.

        The scale of colours is logarithmic unless `linear`, and ends at `peak`: by default that of this map,
        for several maps side by side that of all. A click has `pointNumber` = [row, column]; the trace's
        `meta` are the bounds of rows and columns, the layout's their unit, and `customdata` the counts, of
        which the page makes sentences. `axes`: labels of the horizontal and the vertical axis.
        """
        label = Unit(unit).label
        width = self.limit / self.bins
        centres = [(k + 0.5) * width for k in range(self.bins)]
        trace = {
            "type": "heatmap",
            "x": centres,
            "y": centres,
            "customdata": [list(row) for row in self.counts],
            "meta": [self.bounds(k) for k in range(self.bins)],
            "colorscale": "Viridis",
            "hoverongaps": False,
            **self._colours(self.peak if peak is None else peak, linear),
        }
        return figure_json([trace], self._layout(label, *axes))

    def _colours(self, peak: int, linear: bool) -> Json:
        title = {"title": {"text": "experiments"}}
        if linear:
            z = [[count or None for count in row] for row in self.counts]
            return {"z": z, "zmin": 0, "zmax": max(peak, 1), "colorbar": title}
        ticks = [tick for tick in _TICKS if tick <= max(peak, 1)]
        return {
            "z": [[math.log10(count) if count else None for count in row] for row in self.counts],
            "zmin": 0,
            "zmax": math.log10(max(peak, 10)),
            "colorbar": {
                **title,
                "tickvals": [math.log10(tick) for tick in ticks],
                "ticktext": [f"{tick:,}" for tick in ticks],
            },
        }

    def _layout(self, label: str, across: str, up: str) -> Json:
        axis = {"range": [0, self.limit], "constrain": "domain", "zeroline": False}
        diagonal = {"type": "line", "x0": 0, "y0": 0, "x1": self.limit, "y1": self.limit}
        layout: Json = {
            "meta": {"unit": label},
            "xaxis": {**axis, "title": {"text": f"{across} ({label})"}},
            "yaxis": {**axis, "title": {"text": f"{up} ({label})"}, "scaleanchor": "x"},
            "shapes": [{**diagonal, "line": {"width": 1.5, "dash": "dot"}, "layer": "above"}],
        }
        if self.outside:
            layout["annotations"] = [
                {
                    "text": f"{self.outside:,} of {self.n:,} lie outside",
                    "xref": "paper",
                    "yref": "paper",
                    "x": 0.02,
                    "y": 0.98,
                    "showarrow": False,
                }
            ]
        return layout


class BinCounts:
    """Counts experiments in the bins of a map with known axes: bins² integers."""

    def __init__(self, limit: float, bins: int = BINS) -> None:
        if bins < 1:
            raise InvalidInputError(f"a heat map needs at least one bin, not {bins}")
        self._limit = _checked_limit(limit)
        self._bins = bins
        self._n = 0
        self._counts = np.zeros(bins * bins, dtype=np.int64)

    def add(self, measured: npt.ArrayLike, predicted: npt.ArrayLike) -> None:
        """Count more experiments; see `heat_map` for their values."""
        xs, ys = validated_points(measured, predicted)
        for start in range(0, len(xs), PART):
            part = slice(start, start + PART)
            rows, columns = bins_of(xs[part], ys[part], limit=self._limit, bins=self._bins)
            inside = rows >= 0
            flat = rows[inside] * self._bins + columns[inside]
            self._counts += np.bincount(flat, minlength=len(self._counts))
        self._n += len(xs)

    def merge(self, other: BinCounts) -> None:
        """Add the counts of another one.

        Raises:
            InvalidInputError: Its axes or bins differ.
        """
        if (self._limit, self._bins) != (other._limit, other._bins):
            raise InvalidInputError(
                f"heat maps of {self._bins} bins up to {self._limit:g} and of {other._bins} bins up to "
                f"{other._limit:g} cannot be merged: count both with the same axes"
            )
        self._counts += other._counts
        self._n += other._n

    @property
    def heat_map(self) -> HeatMap:
        return HeatMap(
            bins=self._bins,
            limit=self._limit,
            n=self._n,
            outside=self._n - int(self._counts.sum()),
            counts=tuple(tuple(row) for row in self._counts.reshape(self._bins, self._bins).tolist()),
        )


def heat_map(
    measured: npt.ArrayLike, predicted: npt.ArrayLike, *, limit: float | None = None, bins: int = BINS
) -> HeatMap:
    """The heat map of experiments.

    Args:
        measured: Finite times ≥ 0.
        predicted: Times ≥ 0 in the same unit; may be infinite.
        limit: End of both axes; None for a round number that includes all experiments or, with a few
            outliers, 99.5 % of them. An empty map then ends at 1.
        bins: Number of rows and columns.

    Raises:
        InvalidInputError: The values, the limit or the number of bins are invalid.

    Example:
        >>> heat_map([1.0, 2.0], [1.0, 1.0], limit=2.0, bins=2).counts
        ((0, 0), (0, 2))
    """
    if limit is None:
        reach = Reach()
        reach.add(measured, predicted)
        limit = reach.limit
    counted = BinCounts(limit, bins)
    counted.add(measured, predicted)
    return counted.heat_map


def bins_of(
    measured: npt.ArrayLike, predicted: npt.ArrayLike, *, limit: float, bins: int = BINS
) -> tuple[Indices, Indices]:
    """(rows, columns) of experiments in a map with these axes, int64[n] each; -1 for those outside."""
    xs, ys = validated_points(measured, predicted)
    limit = _checked_limit(limit)
    inside = (xs <= limit) & (ys <= limit)

    def index(values: Floats) -> Indices:
        scaled = np.floor(np.where(inside, values, 0.0) * bins / limit).astype(np.int64)
        return np.where(inside, np.minimum(scaled, bins - 1), -1)

    return index(ys), index(xs)


def _checked_limit(limit: float) -> float:
    if not (math.isfinite(limit) and limit > 0):
        raise InvalidInputError(f"the axes of a heat map must end at a finite number > 0, not {limit!r}")
    return limit
