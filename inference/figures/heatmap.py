"""Predicted against measured as a two-dimensional histogram (thesis §5.2): 35 × 35 equal bins.

A million experiments become 1,225 numbers. The axes end where nearly everything is inside; what lies beyond
is counted and said, never dropped in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.metrics import Unit
from inference.figures.plotly_json import Json, figure_json

BINS = 35
COVERED = 0.995
"""Share of the experiments that the axes must reach."""

_ROUND = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
_TICKS = tuple(digit * 10**power for power in range(9) for digit in (1, 3))

_LIMITS = (1e-3, 1e300)
"""Axes end between these, lest scaling to bins under- or overflows."""

_PLAIN = 1e6
"""Axes that end beyond have their bounds written with an exponent."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeatMap:
    """`counts[row][column]` experiments with a prediction in bin `row` and a measurement in bin `column`.

    Bin k covers `k · limit / bins ≤ value < (k + 1) · limit / bins` on both axes, the last one its upper end
    too. `outside` experiments lie beyond `limit` on an axis; `n` counts all of them, so
    `n == outside + sum of counts`.
    """

    bins: int
    limit: float
    n: int
    outside: int
    counts: tuple[tuple[int, ...], ...]

    def as_json(self) -> Json:
        """Plain data; `from_json` reads it back."""
        return {
            "bins": self.bins,
            "limit": self.limit,
            "n": self.n,
            "outside": self.outside,
            "counts": [list(row) for row in self.counts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `as_json` gave."""
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
        """The ends of a row or column in words, "1.80 to 2.06", in enough digits to tell neighbours apart."""
        digits = max(2, -math.floor(math.log10(self.limit / self.bins)))
        form = f",.{digits}f" if self.limit < _PLAIN else ".4g"
        lower, upper = self.edges(index)
        return f"{lower:{form}} to {upper:{form}}"

    def figure(self, unit: Unit | str = Unit.CYCLES) -> Json:
        """A plotly figure: logarithmic colours, the diagonal, and a note where experiments lie outside.

        A click on it tells `pointNumber` = [row, column]; the trace's `meta` are the bounds of rows and
        columns, its `customdata` the counts, which the page puts into words.
        """
        label = Unit(unit).label
        width = self.limit / self.bins
        peak = max((count for row in self.counts for count in row), default=0)
        centres = [(k + 0.5) * width for k in range(self.bins)]
        ticks = [tick for tick in _TICKS if tick <= max(peak, 1)]
        trace = {
            "type": "heatmap",
            "x": centres,
            "y": centres,
            "z": [[math.log10(count) if count else None for count in row] for row in self.counts],
            "customdata": [list(row) for row in self.counts],
            "meta": [self.bounds(k) for k in range(self.bins)],
            "zmin": 0,
            "zmax": math.log10(max(peak, 10)),
            "colorscale": "Viridis",
            "colorbar": {
                "title": {"text": "experiments"},
                "tickvals": [math.log10(tick) for tick in ticks],
                "ticktext": [f"{tick:,}" for tick in ticks],
            },
            "hoverongaps": False,
        }
        return figure_json([trace], self._layout(label))

    def _layout(self, label: str) -> Json:
        axis = {"range": [0, self.limit], "constrain": "domain", "zeroline": False}
        diagonal = {"type": "line", "x0": 0, "y0": 0, "x1": self.limit, "y1": self.limit}
        layout: Json = {
            "xaxis": {**axis, "title": {"text": f"measured ({label})"}},
            "yaxis": {**axis, "title": {"text": f"predicted ({label})"}, "scaleanchor": "x"},
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


def heat_map(
    measured: npt.ArrayLike, predicted: npt.ArrayLike, *, limit: float | None = None, bins: int = BINS
) -> HeatMap:
    """Count experiments into bins. Both lists in one unit, ≥ 0; predictions may be infinite.

    `limit` is where both axes end; by default a round number that reaches all experiments, or, where single
    ones lie far out, 99.5 % of them. None in, none out: an empty map has limit 1.
    """
    seen, said = _checked(measured, predicted)
    if bins < 1:
        raise InvalidInputError(f"a heat map needs at least one bin, not {bins}")
    if limit is None:
        limit = _sensible_limit(np.maximum(seen, said))
    rows, columns = bins_of(seen, said, limit=limit, bins=bins)
    inside = rows >= 0
    flat = np.bincount(rows[inside] * bins + columns[inside], minlength=bins * bins)
    return HeatMap(
        bins=bins,
        limit=limit,
        n=len(seen),
        outside=int(len(seen) - inside.sum()),
        counts=tuple(tuple(row) for row in flat.reshape(bins, bins).tolist()),
    )


def bins_of(
    measured: npt.ArrayLike, predicted: npt.ArrayLike, *, limit: float, bins: int = BINS
) -> tuple[Indices, Indices]:
    """(rows, columns) of experiments in a map with these axes, both -1 for one outside: int64[n] each."""
    seen, said = _checked(measured, predicted)
    if not (math.isfinite(limit) and limit > 0):
        raise InvalidInputError(f"the axes of a heat map must end at a finite number > 0, not {limit!r}")
    inside = (seen <= limit) & (said <= limit)

    def index(values: npt.NDArray[np.float64]) -> Indices:
        scaled = np.floor(np.where(inside, values, 0.0) * bins / limit).astype(np.int64)
        return np.where(inside, np.minimum(scaled, bins - 1), -1)

    return index(said), index(seen)


def _sensible_limit(largest: npt.NDArray[np.float64]) -> float:
    finite = largest[np.isfinite(largest) & (largest > 0)]
    if not len(finite):
        return 1.0
    finite = np.clip(finite, *_LIMITS)
    farthest = _round_up(float(finite.max()))
    most = _round_up(float(np.quantile(finite, COVERED, method="higher")))
    return farthest if farthest <= 1.5 * most else most


def _round_up(value: float) -> float:
    unit = 10.0 ** math.floor(math.log10(value))
    return next(step * unit for step in (*_ROUND, 20.0) if step * unit >= value)


def _checked(
    measured: npt.ArrayLike, predicted: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    seen = np.asarray(measured, dtype=np.float64)
    said = np.asarray(predicted, dtype=np.float64)
    if seen.ndim != 1 or seen.shape != said.shape:
        raise InvalidInputError(f"a heat map needs two equally long lists, not {seen.shape} and {said.shape}")
    if not (np.all(np.isfinite(seen) & (seen >= 0)) and np.all(said >= 0)):
        raise InvalidInputError("a heat map needs finite measurements ≥ 0 and predictions ≥ 0")
    return seen, said
