"""Reports of an evolution on its generations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from inference.core.events import Progress
from inference.core.pacing import PROGRESS_INTERVAL
from inference.core.pmevo.breeding import PHASE, Evolution
from inference.core.pmevo.events import Cloud, Generation
from inference.core.pmevo.fitness import FitnessGate

GenerationStatistics = npt.NDArray[np.float64]
_ERRORS, _VOLUMES = slice(0, 4), slice(4, 8)


def generation_statistics(state: Evolution) -> list[float]:
    """Eight numbers: error of the fittest, mean, smallest and largest error; the same of volumes."""
    return [
        float(value)
        for values in (state.errors, state.volumes)
        for value in (values[0], values.mean(), values.min(), values.max())
    ]


class GenerationReporter:
    """Reports generations; rates count from generation `first`, where the search was resumed."""

    def __init__(self, judge: FitnessGate, first: int) -> None:
        self._judge = judge
        self._first = first
        self._start = judge.pace.clock()
        self._counted = judge.evaluations
        self._last_reported = -1

    def report(self, state: Evolution) -> None:
        self._emit(state.generation, generation_statistics(state))
        self.report_population(state)

    def report_islands(
        self, first: int, by_island: GenerationStatistics, sizes: npt.NDArray[np.int64]
    ) -> None:
        """Report generations from `first` on of islands: `by_island` float64[n_islands, n_generations, 8]."""
        for k in range(by_island.shape[1]):
            self._emit(
                first + k, _combine_statistics(by_island[:, k], sizes, self._judge.settings.volume_weight)
            )

    def report_population(self, state: Evolution, *, now: bool = False) -> None:
        """Report a sample of the population, at most every two seconds unless `now`."""
        pace = self._judge.pace
        if state.generation != self._last_reported and (pace.due(Cloud.kind, PROGRESS_INTERVAL) or now):
            self._last_reported = state.generation
            pace.emit(Cloud.of(state.generation, state.errors, state.volumes))

    def _emit(self, generation: int, statistics: list[float]) -> None:
        pace = self._judge.pace
        seconds = max(pace.clock() - self._start, 1e-9)
        rate = (generation - self._first) / seconds
        pace.emit(
            Generation(
                generation=generation,
                best_error=statistics[0],
                mean_error=statistics[1],
                best_volume=int(statistics[4]),
                mean_volume=statistics[5],
                evaluations_per_second=(self._judge.evaluations - self._counted) / seconds,
                minimised=self._judge.settings.minimises,
            )
        )
        limit = self._judge.settings.max_generations
        # Until the limit; the evolution may converge before.
        eta = (limit - generation) / rate if rate > 0 else None
        if pace.due(PHASE) or generation == limit:
            pace.emit(Progress(PHASE, generation, limit, rate, "generations", eta))


def _combine_statistics(
    by_island: GenerationStatistics, sizes: npt.NDArray[np.int64], volume_weight: float
) -> list[float]:
    """The statistics of all islands together: the fittest of all, means over all mappings, extremes."""
    fitness = np.zeros(len(by_island))
    summaries = []
    for part, weight in ((_ERRORS, 1.0), (_VOLUMES, volume_weight)):
        best, mean, low, high = by_island[:, part].T
        span = high.max() - low.min()
        fitness += weight * best / span if span > 0 else 0.0
        summaries.append([mean @ sizes / sizes.sum(), low.min(), high.max()])
    fittest = by_island[int(np.argmin(fitness))]
    return [fittest[0], *summaries[0], fittest[4], *summaries[1]]
