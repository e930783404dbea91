"""Compiles the inner loops before anybody waits for them; numba keeps them on disk."""

from __future__ import annotations

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.local_search import LocalSearch
from inference.core.pmevo.population import children, random_population
from inference.core.tables import ExperimentTable, Int64s, Population

_PORTS = 2


def compile_all() -> None:
    """See that every compiled loop is on disk, by using each once (half a minute; 2 s if they are there).

    Raises ImportError without numba.
    """
    table = ExperimentTable.from_experiments([Experiment.of(["a"]), Experiment.of({"a": 1, "b": 2})])
    limits: Int64s = np.full((table.n_schemes, _PORTS), 2, dtype=np.int64)
    evaluator = Evaluator(table, _PORTS, compiled=True)
    measured = np.ones(len(table))
    few = random_population(np.arange(2, dtype=np.uint64), limits)
    alike = random_population(np.zeros(16, dtype=np.uint64), limits)  # enough in common to be shared
    pairs: Int64s = np.array([[0, 1]], dtype=np.int64)
    offspring = children(few, pairs, np.zeros(1, dtype=np.uint64), drop=False)
    evaluator.cycles(offspring)
    for population in (few, alike):
        evaluator.mean_relative_error(population, measured)
    _change_one(LocalSearch(evaluator, few, measured), few)


def _change_one(search: LocalSearch, population: Population) -> None:
    other = population.row(1, 0)
    search.error_with(0, other)
    search.replace(0, other)
