"""The measurements of a search, repeated where they contradict the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import median

from inference.core.bottleneck import rounded_rate
from inference.core.cegar.answers import CachedMeasurer
from inference.core.cegar.settings import CegarSettings
from inference.core.cegar.shape import Observation, Shape
from inference.core.experiment import Experiment, Measured

WastedShare = Callable[[Experiment], float]
"""The share of a measured time that waste may explain, 0 to 1; at 1 it says nothing about ports."""

_SAME_WASTE = 0.01  # shares of time that differ by less are the same: another search would not pay
_TIMES = (2, 3)  # repetitions of an experiment in one loop, which uses other registers, too


class Readings:
    """The usable measurements of a search, one for each experiment."""

    def __init__(self, answers: CachedMeasurer, settings: CegarSettings) -> None:
        self._answers = answers
        self._settings = settings
        self._readings: dict[Experiment, Measured] = {}
        self._repeated: set[Experiment] = set()
        self._share: WastedShare | None = None
        self._wasted: dict[Experiment, float] = {}
        self.least_cycles: Callable[[Experiment], float] = lambda experiment: 0.0
        """What the code of a measured experiment takes on any ports, as far as it is known."""

    def __len__(self) -> int:
        return len(self._readings)

    def record(self, measured: Measured) -> bool:
        """Keep a usable measurement, unless the experiment has one; whether it is usable."""
        usable = measured.usable and measured.cycles is not None
        if usable:
            self._readings.setdefault(measured.experiment, measured)
        return usable

    def cycles(self, experiment: Experiment) -> float | None:
        """The cycles that count for the experiment; None without a usable measurement."""
        reading = self._readings.get(experiment)
        return None if reading is None else reading.cycles

    @property
    def r_max(self) -> float | None:
        """Instructions per cycle that pass a bottleneck beside the ports; None for no limit.

        Where the number of ports is not given, it is the highest measured rate: ports beyond that cannot be
        distinguished from such a bottleneck.
        """
        if not self._shows_rate:
            return self._settings.r_max
        return rounded_rate(max(map(self._rate, self._readings)))

    def confirm_quickest(self) -> None:
        """Repeat the quickest measurement until it stays the quickest: the minimum of noisy times is biased.

        R_max is inferred from it, so that one reading that is too quick would hide ports.
        """
        while self._shows_rate and self._answers.offered is None:
            quickest = max(self._readings, key=self._rate)
            if quickest in self._repeated:
                break
            self.repeat([quickest])

    def _rate(self, experiment: Experiment) -> float:
        cycles = self.cycles(experiment)
        return experiment.length / cycles if cycles else 0.0

    @property
    def measured(self) -> dict[Experiment, float]:
        """{experiment: cycles} of all usable measurements."""
        return {e: reading.cycles for e, reading in self._readings.items() if reading.cycles is not None}

    def allow_waste(self, share: WastedShare) -> bool:
        """Set the shares of time that may be wasted; whether one changed by more than `_SAME_WASTE`."""
        before, self._share, self._wasted = self._wasted, share, {}
        shares = [(self.wasted(experiment), before.get(experiment, 0.0)) for experiment in self._readings]
        return any(abs(now - then) > _SAME_WASTE for now, then in shares)

    def wasted(self, experiment: Experiment) -> float:
        """The share of its measured time that the core may waste."""
        if self._share is None:
            return 0.0
        if experiment not in self._wasted:
            self._wasted[experiment] = self._share(experiment)
        return self._wasted[experiment]

    @property
    def _shows_rate(self) -> bool:
        """Whether R_max is inferred, and mixes were measured that may reach it."""
        is_searched = self._settings.r_max is None and self._settings.ports is None
        return is_searched and any(len(experiment.terms) > 1 for experiment in self._readings)

    @property
    def schemes(self) -> set[str]:
        return {scheme for experiment in self._readings for scheme in experiment.schemes}

    def observations(self, shape: Shape) -> list[Observation]:
        """Observations of the experiments that consist of the shape's schemes."""
        schemes = set(shape.schemes)
        return [
            Observation.of(shape, experiment, reading.cycles, self.wasted(experiment))
            for experiment, reading in self._readings.items()
            if reading.cycles is not None and schemes.issuperset(experiment.schemes)
        ]

    def repeat(self, experiments: Iterable[Experiment]) -> bool:
        """Measure experiments again, once each, as far as possible; whether a measurement changed.

        The median of the measurements counts from then on.
        """
        changed = False
        for experiment in experiments:
            first = self._readings[experiment].cycles
            if experiment in self._repeated or self._answers.offered is not None or first is None:
                continue
            self._repeated.add(experiment)
            cycles = median([first, *self._measure_longer(experiment)])
            changed |= cycles != first
            self._readings[experiment] = replace(self._readings[experiment], cycles=cycles)
        return changed

    def _measure_longer(self, experiment: Experiment) -> list[float]:
        """Cycles of the experiment, from loops that contain it several times."""
        longer = [
            Experiment(tuple((scheme, times * count) for scheme, count in experiment.terms))
            for times in _TIMES
            if times * experiment.length <= (self._settings.max_length or math.inf)
        ]
        return [
            measured.cycles * experiment.length / measured.experiment.length
            for measured in self._answers.measure(longer)
            if measured.usable and measured.cycles is not None
        ]
