"""The fitness of port mappings (§5.1.3), and their evaluation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.metrics import RELATIVE_LOSS, bounded_loss
from inference.core.pacing import PacedReporter
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable, Floats, Int64s, Population

SCALE = 1000.0
CHUNK_SECONDS = 0.1  # of an evaluation between two calls of the pulse
LARGEST_CHUNK = 4096


@dataclass(frozen=True)
class Slopes:
    """Λ₁ and Λ₂ without their offsets, which no comparison needs: points per unit of each objective."""

    error: float
    volume: float

    @classmethod
    def of(cls, errors: Floats, volumes: Int64s, settings: PMEvoSettings, previous: Slopes | None) -> Slopes:
        """The affine normalisation of a generation.

        An objective in which all mappings agree has no range to normalise: it keeps the slope of the
        generation before, or at first that of the scale from zero.
        """
        sizes = volumes.astype(np.float64)
        if settings.scaling == "zero":
            return cls(_from_zero(errors), _from_zero(sizes) * settings.volume_weight)
        if previous is None:
            previous = cls(_from_zero(errors), _from_zero(sizes) * settings.volume_weight)
        error_range, volume_range = float(np.ptp(errors)), float(np.ptp(sizes))
        return cls(
            SCALE / error_range if error_range > 0 else previous.error,
            SCALE / volume_range * settings.volume_weight if volume_range > 0 else previous.volume,
        )

    def fitness(self, errors: Floats, volumes: Int64s) -> Floats:
        """F up to a constant, float64[n]; smaller is fitter."""
        return errors * self.error + volumes * self.volume


def _from_zero(values: Floats) -> float:
    largest = float(values.max())
    return SCALE / largest if largest > 0 else 0.0


class FitnessGate:
    """Evaluates mappings on the experiments learnt from; counts evaluations, and calls the pulse.

    Args:
        measured: Cycles of the experiments.
        lower_bounds: Cycles that each takes on any ports, None for 0.
    """

    def __init__(
        self,
        experiments: Sequence[Experiment],
        measured: Sequence[float],
        schemes: Sequence[str],
        settings: PMEvoSettings,
        pace: PacedReporter,
        lower_bounds: Floats | None = None,
    ) -> None:
        table = ExperimentTable.from_experiments(experiments, schemes)
        self._set_up(table, np.array(measured, dtype=np.float64), settings, pace, lower_bounds)

    @classmethod
    def over(
        cls, table: ExperimentTable, measured: Floats, settings: PMEvoSettings, pace: PacedReporter
    ) -> FitnessGate:
        """A gate that uses a prepared table instead of copying the experiments into a new one."""
        judge = cls.__new__(cls)
        judge._set_up(table, measured, settings, pace)
        return judge

    def _set_up(
        self,
        table: ExperimentTable,
        measured: Floats,
        settings: PMEvoSettings,
        pace: PacedReporter,
        lower_bounds: Floats | None = None,
    ) -> None:
        self.table = table
        self.measured = measured
        self.settings = settings
        self.evaluations = 0
        self.pace = pace
        self.evaluator = Evaluator(table, settings.n_ports, r_max=settings.r_max, lower_bounds=lower_bounds)
        self.loss = bounded_loss(settings.spread) if settings.objective == "bounded" else RELATIVE_LOSS
        self.threads = settings.threads or len(os.sched_getaffinity(0))
        self._chunk = 2

    @property
    def chunk(self) -> int:
        """Number of random mappings for one call of `errors`, by the duration of earlier calls; even."""
        return self._chunk

    def cycles_of(self, mapping: PortMapping) -> Floats:
        """The mapping's predictions in cycles, by its own R_max, for what is learnt from: float64[n]."""
        return Evaluator(self.table, len(mapping.ports)).mapping_cycles(mapping)

    def errors(self, population: Population) -> Floats:
        """The mean loss of every mapping: D_avg, or the bounded loss where that is the objective.

        Evaluating similar mappings in one call is cheaper.
        """
        start = self.pace.clock()
        errors = self.evaluator.mean_loss(population, self.measured, self.loss, self.threads, self.pace.pulse)
        seconds = self.pace.clock() - start
        self.evaluations += population.n_mappings
        if seconds < CHUNK_SECONDS / 2 and population.n_mappings == self._chunk:
            self._chunk = min(2 * self._chunk, LARGEST_CHUNK)
        elif seconds > 2 * CHUNK_SECONDS:
            self._chunk = max(2, self._chunk // 4 * 2)
        self.pace.pulse()
        return errors
