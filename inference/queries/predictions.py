"""A few measurements beside what is predicted for them: the lists beside a heat map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from inference.core.metrics import Unit
from inference.core.predicting import Predictor
from inference.exchange.evaluating import compare
from inference.exchange.stored import StoredMeasurement, measurements_of
from inference.models import Measurement


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


def listed(predictor: Predictor, ids: Iterable[int], unit: Unit = Unit.CYCLES) -> list[Predicted]:
    """The measurements with these row ids, in this order, predicted anew.

    Without those that have been deleted since the list was made, or have no prediction any more.
    """
    wanted = list(ids)
    found = measurements_of(Measurement.objects.filter(pk__in=wanted))
    compared = compare(predictor, [entry.value for entry in found], unit)
    numbers = zip(
        compared.kept.tolist(), compared.measured.tolist(), compared.predicted.tolist(), strict=True
    )
    by_id = {found[index].id: Predicted(found[index], seen, said) for index, seen, said in numbers}
    return [by_id[pk] for pk in wanted if pk in by_id]
