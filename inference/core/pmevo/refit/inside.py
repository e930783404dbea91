"""The re-fit as local search inside the evolution: the fittest mapping has a child better on purpose."""

from __future__ import annotations

import numpy as np

from inference.core.arrays import Floats
from inference.core.pmevo.fitness import Judge
from inference.core.pmevo.refit.chain import lists_of, port_sets
from inference.core.pmevo.refit.desk import Desk
from inference.core.pmevo.refit.objective import Objective, Prices
from inference.core.pmevo.refit.usage import Usage
from inference.core.tables import Population


class Improver:
    """Re-fits a few schemes of a mapping. `times`: cycles float64[n_schemes] of every scheme alone."""

    def __init__(self, judge: Judge, times: Floats) -> None:
        settings = judge.settings
        self._desk = Desk(judge.evaluator, judge.measured, times, np.ones(len(times), dtype=np.int64))
        self._wanted = min(settings.refits, len(times))
        self._sets = port_sets(settings.ports, self._desk.widest)
        self._prices = Prices(
            settings.kind_price * self._desk.experiments_per_scheme,
            settings.volume_price * self._desk.experiments_per_scheme,
        )
        self._objective = Objective(judge.loss, per_slot=0.0)
        self._ports = settings.ports

    def improved(self, population: Population, random: np.random.Generator) -> Population:
        """The first of a population with some schemes re-fitted, as a population of one."""
        usage = Usage.of(population, 0)
        for scheme in random.choice(len(usage.sizes), size=self._wanted, replace=False).tolist():
            lists = lists_of(usage, self._sets, np.empty(0, dtype=np.int64))
            self._desk.refit(usage, scheme, lists, self._prices, self._objective, keep=True)
        return usage.population(self._ports)
