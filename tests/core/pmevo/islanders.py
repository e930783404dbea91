"""A small search on islands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import combinations

from inference.core.experiment import Experiment
from inference.core.pacing import Executor, PacedReporter
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.evolution import evolve
from inference.core.pmevo.fitness import FitnessGate
from tests.core.pmevo.small import MAPPING, SETTINGS, Listener, processor

ISLANDS = dataclasses.replace(
    SETTINGS, population=50, islands=4, migrate_every=3, migrants=2, max_generations=8, mutation=1.0
)


def judge_of(listener: Listener, settings=ISLANDS) -> tuple[FitnessGate, list[float]]:
    """Judges by single schemes and pairs; the second is the time of each scheme."""
    schemes = tuple(sorted(MAPPING.usage))
    asked = [Experiment.of([scheme]) for scheme in schemes]
    asked += [Experiment.of(pair) for pair in combinations(schemes, 2)]
    times = {result.experiment: result.cycles or 0.0 for result in processor().measure(asked)}
    judge = FitnessGate(list(times), list(times.values()), schemes, settings, PacedReporter(listener))
    return judge, [times[Experiment.of([scheme])] for scheme in schemes]


def facts(state: Evolution) -> tuple[object, ...]:
    """All that two equal populations have in common."""
    population = state.population
    arrays = (population.offsets, population.masks, population.counts, state.errors, state.volumes)
    return (state.generation, state.slopes, *(array.tobytes() for array in arrays))


def evolved(
    executor: Executor | None,
    listener: Listener | None = None,
    settings=ISLANDS,
    state: Evolution | None = None,
    listen: Callable[[Evolution], None] = lambda state: None,
) -> tuple[object, ...]:
    """`facts` of what the search ends with."""
    judge, times = judge_of(listener or Listener(), settings)
    return facts(evolve(judge, times, 3, state, listen, executor))
