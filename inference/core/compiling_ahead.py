"""Compiles the inner loops before a user has to wait for them; numba stores them on disk."""

from __future__ import annotations

import numpy as np

from inference.core.compiled_mark import record_compiled
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.pacing import PacedReporter, SilentReporter
from inference.core.pmevo.climb import local_optima
from inference.core.pmevo.congruence import congruent_schemes
from inference.core.pmevo.fitness import FitnessGate, Slopes
from inference.core.pmevo.population import children, pack, random_population, select, unpack
from inference.core.pmevo.refit.objective import Prices
from inference.core.pmevo.refit.search_arrays import Lists, SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.pmevo.variation import fingerprints, inherit_rows, mutate
from inference.core.simulation.program import SchedulerPolicy, SimulatedProgram, SimulatedUop
from inference.core.simulation.steady_state import simulate
from inference.core.tables import ExperimentTable, Int64s

_PORTS = 2  # as few as possible: the machine code is the same for any number


def compile_all() -> None:
    """Use every compiled loop once, so that all are on disk (half a minute; 2 s if they are there already).

    Raises:
        ImportError: Without numba.
    """
    table = ExperimentTable.from_experiments([Experiment.of(["a"]), Experiment.of({"a": 1, "b": 2})])
    limits: Int64s = np.full((table.n_schemes, _PORTS), 2, dtype=np.int64)
    evaluator = Evaluator(table, _PORTS)
    measured = np.ones(len(table))
    few = random_population(np.arange(2, dtype=np.uint64), limits)
    alike = random_population(np.zeros(16, dtype=np.uint64), limits)  # enough in common to be shared
    pairs: Int64s = np.array([[0, 1]], dtype=np.int64)
    offspring = children(few, pairs, np.zeros(1, dtype=np.uint64), drop=False)
    evaluator.cycles(select(offspring, np.arange(2)))
    fingerprints(offspring)
    seeds = np.zeros(2, dtype=np.uint64)
    mutate(inherit_rows(few, pairs, seeds[:1]), seeds, 1.0, limits)
    unpack(pack(offspring), offspring.n_schemes, _PORTS)
    for population in (few, alike):
        evaluator.mean_relative_error(population, measured)
    settings = PMEvoSettings(ports=_PORTS, threads=1)
    alone = {Experiment.of([scheme]): 1.0 for scheme in table.schemes}  # congruent
    congruent_schemes(table.schemes, alone, settings, lambda: None)
    judge = FitnessGate.over(table, measured, settings, PacedReporter(SilentReporter()))
    local_optima(judge, few, np.arange(2), Slopes(1.0, 1.0))
    lists = Lists(*[np.arange(1, 1 << _PORTS, dtype=np.int64)] * 3)
    arrays = SearchArrays(evaluator, measured, measured, np.ones(2, dtype=np.int64))
    arrays.refit(Usage.empty(2), 0, lists, Prices(0.0, 0.0), keep=False)
    simulate(SimulatedProgram((SimulatedUop(1, 0),), _PORTS, 1), SchedulerPolicy())
    record_compiled()
