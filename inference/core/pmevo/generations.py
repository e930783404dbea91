"""What the evolution tells of its generations while it goes on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from inference.core.events import Progress
from inference.core.pacing import SHOW_EVERY
from inference.core.pmevo.breeding import PHASE, Evolved
from inference.core.pmevo.events import Cloud, Generation
from inference.core.pmevo.fitness import FitnessGate

Stories = npt.NDArray[np.float64]
_ERRORS, _VOLUMES = slice(0, 4), slice(4, 8)


def story(state: Evolved) -> list[float]:
    """What is told of a generation: error of the fittest, mean, smallest and largest; the same of volumes."""
    return [
        float(value)
        for values in (state.errors, state.volumes)
        for value in (values[0], values.mean(), values.min(), values.max())
    ]


class GenerationTeller:
    """Tells of generations, counting from the one where the search was taken up."""

    def __init__(self, judge: FitnessGate, first: int) -> None:
        self._judge = judge
        self._first = first
        self._start = judge.pace.clock()
        self._counted = judge.evaluations
        self._shown = -1

    def tell(self, state: Evolved) -> None:
        """Of a population that evolves alone."""
        self._tell(state.generation, story(state))
        self.show(state)

    def tell_together(self, first: int, stories: Stories, sizes: npt.NDArray[np.int64]) -> None:
        """Of several populations: `stories` float64[n_islands, n_generations, 8], the first being `first`."""
        for k in range(stories.shape[1]):
            self._tell(first + k, _together(stories[:, k], sizes, self._judge.settings.volume_weight))

    def show(self, state: Evolved, *, now: bool = False) -> None:
        """The whole population, at most every two seconds unless `now`."""
        pace = self._judge.pace
        if state.generation != self._shown and (pace.due(Cloud.kind, SHOW_EVERY) or now):
            self._shown = state.generation
            pace.emit(Cloud.of(state.generation, state.errors, state.volumes))

    def _tell(self, generation: int, told: list[float]) -> None:
        pace = self._judge.pace
        seconds = max(pace.clock() - self._start, 1e-9)
        rate = (generation - self._first) / seconds
        pace.emit(
            Generation(
                generation=generation,
                best_error=told[0],
                mean_error=told[1],
                best_volume=int(told[4]),
                mean_volume=told[5],
                evaluations_per_second=(self._judge.evaluations - self._counted) / seconds,
                minimised=self._judge.settings.minimises,
            )
        )
        limit = self._judge.settings.max_generations
        # The time to the limit; convergence may come first.
        eta = (limit - generation) / rate if rate > 0 else None
        if pace.due(PHASE) or generation == limit:
            pace.emit(Progress(PHASE, generation, limit, rate, "generations", eta))


def _together(stories: Stories, sizes: npt.NDArray[np.int64], volume_weight: float) -> list[float]:
    """The story of all islands: the fittest of their fittest, means of all mappings, extremes of all."""
    fitness = np.zeros(len(stories))
    told = []
    for part, weight in ((_ERRORS, 1.0), (_VOLUMES, volume_weight)):
        best, mean, low, high = stories[:, part].T
        span = high.max() - low.min()
        fitness += weight * best / span if span > 0 else 0.0
        told.append([mean @ sizes / sizes.sum(), low.min(), high.max()])
    fittest = stories[int(np.argmin(fitness))]
    return [fittest[0], *told[0], fittest[4], *told[1]]
