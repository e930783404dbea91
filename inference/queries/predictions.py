"""Measurements beside what a mapping predicts for them: behind a heat map, and in lists of a few of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.mapping import PortMapping
from inference.core.metrics import Unit
from inference.exchange.evaluating import compare_mapping
from inference.exchange.stored import StoredMeasurement, measurements_of
from inference.figures.heatmap import HeatMap
from inference.models import ExperimentSet, Measurement

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Predicted:
    """A stored measurement with a prediction, both numbers in the unit that was asked for."""

    stored: StoredMeasurement
    measured: float
    predicted: float

    @property
    def difference(self) -> float:
        """Prediction against measurement, in per cent of the measurement."""
        return 100 * (self.predicted - self.measured) / self.measured


@dataclass(frozen=True, eq=False)
class Predictions:
    """Measurements that have a prediction, in their order: small enough to be kept between two pages.

    `ids` int64[n] are those of the measurements' rows; `measured`, `predicted` float64[n] are in one unit.
    """

    ids: Indices
    measured: Floats
    predicted: Floats

    def worst(self) -> Indices:
        """All positions, the largest relative error first."""
        return np.argsort(-np.abs(self.predicted - self.measured) / self.measured, kind="stable")

    def in_bin(self, heat_map: Mapping[str, Any], row: int, column: int) -> Indices:
        """The positions in one bin of a stored heat map, the largest relative error first.

        `heat_map` is the JSON of an evaluation in the same unit; `row` is the bin of the prediction, `column`
        that of the measurement.
        """
        rows, columns = HeatMap.from_json(heat_map).bins_of(self.measured, self.predicted)
        worst = self.worst()
        return worst[((rows == row) & (columns == column))[worst]]

    def listed(self, positions: Indices) -> list[Predicted]:
        """What is at these positions, in their order, without rows that have been deleted since."""
        ids = self.ids[positions].tolist()
        found = {entry.id: entry for entry in measurements_of(Measurement.objects.filter(pk__in=ids))}
        pairs = zip(ids, self.measured[positions].tolist(), self.predicted[positions].tolist(), strict=True)
        return [Predicted(found[row], measured, said) for row, measured, said in pairs if row in found]


def predictions(
    mapping: PortMapping, stored: Sequence[StoredMeasurement], unit: Unit = Unit.CYCLES
) -> Predictions:
    """Those of the measurements for which there is a prediction."""
    comparison = compare_mapping(mapping, [entry.value for entry in stored], unit)
    ids = np.array([entry.id for entry in stored], dtype=np.int64)
    return Predictions(ids[comparison.kept], comparison.measured, comparison.predicted)


def measurements_in_set(experiment_set: ExperimentSet) -> list[StoredMeasurement]:
    """All measurements of a set, in the order of their rows."""
    return measurements_of(experiment_set.measurements.order_by("id"))
