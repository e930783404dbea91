"""The data of a search for the fewest µops: measured times of representatives, with lower bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.pmevo.refit.preferences import FormPair
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.representatives import learnable
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable, Floats, Int64s


@dataclass(frozen=True)
class TrainingData:
    """Measurements, and what is known of the schemes.

    Args:
        times: {experiment: cycles} of all schemes.
        least: {experiment: cycles that it takes on any ports}.
        classes: Classes of congruent schemes, the representative first.
        alone: Cycles of each representative alone.
        domains: The part of the core that each class is for.
        forms: Pairs of classes, of which one has memory in place of a register.
    """

    times: Mapping[Experiment, float]
    least: Mapping[Experiment, float]
    classes: Sequence[Sequence[str]]
    alone: Floats
    domains: Sequence[str | None]
    forms: Sequence[FormPair]

    @property
    def members(self) -> Int64s:
        """int64[n_classes]: number of schemes in each class."""
        return np.array([len(members) for members in self.classes])

    def arrays(
        self, times: Mapping[Experiment, float], settings: PMEvoSettings, forgiven: float = 0.0
    ) -> SearchArrays:
        """The experiments in `times` over the representatives, on the ports of the settings.

        `forgiven`: the share of each time that may be waste. Only what waits for ports is wasted: what
        registers or bytes take is lowered by it beforehand, so that with it they take no more than they do.
        """
        experiments, cycles = learnable(times, self.classes, settings)
        table = ExperimentTable.from_experiments(experiments, [members[0] for members in self.classes])
        lower_bounds = (1 - forgiven) * self.least_of(times, settings)
        evaluator = Evaluator(table, settings.n_ports, settings.r_max, lower_bounds=lower_bounds)
        return SearchArrays(evaluator, np.array(cycles), self.alone, self.members)

    def least_of(self, times: Mapping[Experiment, float], settings: PMEvoSettings) -> Floats:
        """Lower bounds in cycles of the experiments learnt from, in the order of `learnable`: float64[n]."""
        bounds = {experiment: self.least.get(experiment, 0.0) for experiment in times}
        return np.array(learnable(bounds, self.classes, settings)[1])
