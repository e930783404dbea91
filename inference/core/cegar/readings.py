"""What was measured, and measured again where it contradicts the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from inference.core.cegar.asking import Answers
from inference.core.cegar.shape import Observation, Shape
from inference.core.experiment import Experiment, Measured

_TIMES = (2, 3)  # as often in one loop, which takes other operands too


class Readings:
    """The usable measurements of a search, one for each experiment."""

    def __init__(self, answers: Answers, max_length: int | None) -> None:
        self._answers = answers
        self._max_length = max_length
        self._readings: dict[Experiment, Measured] = {}
        self._repeated: set[Experiment] = set()

    def __len__(self) -> int:
        return len(self._readings)

    def take(self, measured: Measured) -> bool:
        """Whether there is a number in it, which counts from now on."""
        usable = measured.usable and measured.cycles is not None
        if usable:
            self._readings.setdefault(measured.experiment, measured)
        return usable

    def cycles(self, experiment: Experiment) -> float | None:
        """What counts for the experiment; None for nothing."""
        reading = self._readings.get(experiment)
        return None if reading is None else reading.cycles

    @property
    def schemes(self) -> set[str]:
        """Those of which anything was measured."""
        return {scheme for experiment in self._readings for scheme in experiment.schemes}

    def observations(self, shape: Shape) -> list[Observation]:
        """What was measured of the shape's schemes."""
        known = set(shape.schemes)
        return [
            Observation.of(shape, experiment, reading.cycles)
            for experiment, reading in self._readings.items()
            if reading.cycles is not None and known.issuperset(experiment.schemes)
        ]

    def repeat(self, experiments: Iterable[Experiment]) -> bool:
        """Measure each of them again, unless that was done or cannot be; whether a reading changed.

        What counts from then on is the median of the readings.
        """
        changed = False
        for experiment in experiments:
            first = self._readings[experiment].cycles
            if experiment in self._repeated or self._answers.offered is not None or first is None:
                continue
            self._repeated.add(experiment)
            cycles = median([first, *self._again(experiment)])
            changed |= cycles != first
            self._readings[experiment] = replace(self._readings[experiment], cycles=cycles)
        return changed

    def _again(self, experiment: Experiment) -> list[float]:
        longer = [
            Experiment(tuple((scheme, times * count) for scheme, count in experiment.terms))
            for times in _TIMES
            if not self._max_length or times * experiment.length <= self._max_length
        ]
        return [
            each.cycles * experiment.length / each.experiment.length
            for each in self._answers.measure(longer)
            if each.usable and each.cycles is not None
        ]
