"""The evolution (§5.1.3, Algorithm 5.1): recombine, evaluate, keep the fittest, until all agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.events import Log, Progress
from inference.core.pmevo.events import Generation
from inference.core.pmevo.fitness import LARGEST_CHUNK, Floats, Judge, Slopes
from inference.core.pmevo.population import children, chosen, count_limits, joined, random_population
from inference.core.tables import Int64s, Population

PHASE = "evolution"
_SEEDS_END = 1 << 64


@dataclass(frozen=True)
class Evolved:
    """The kept mappings of a generation, fittest first, their objectives, and the scale that judged them."""

    generation: int
    population: Population
    errors: Floats
    volumes: Int64s
    slopes: Slopes

    def converged(self, tolerance: float) -> bool:
        """Whether both objectives have come down to a single value, give or take a share of the smallest."""
        return _spread(self.errors) <= tolerance and _spread(self.volumes.astype(np.float64)) <= tolerance


def _spread(values: Floats) -> float:
    low, high = float(values.min()), float(values.max())
    return (high - low) / low if low > 0 else high - low


def stream(seed: int, *stage: int) -> np.random.Generator:
    """The random numbers of one generation, whatever was drawn in those before."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=stage)))


def evolve(
    judge: Judge,
    scheme_times: list[float],
    seed: int,
    state: Evolved | None,
    listen: Callable[[Evolved], None],
) -> Evolved:
    """From `state` (None: from a random population) to convergence or the limit.

    `listen` hears of every generation, the first included.
    """
    settings = judge.settings
    judge.pace.emit(Log("info", "preparing the compiled evaluation; its very first use compiles it"))
    start, counted = judge.pace.clock(), judge.evaluations
    first = state.generation if state is not None else 0
    if state is None:
        state = _initial(judge, scheme_times, seed)
        _tell(judge, state, first, start, counted)
        listen(state)
    while state.generation < settings.max_generations and not state.converged(settings.convergence):
        state = _next(judge, state, seed)
        _tell(judge, state, first, start, counted)
        listen(state)
    return state


def _initial(judge: Judge, scheme_times: list[float], seed: int) -> Evolved:
    settings = judge.settings
    limits = count_limits(scheme_times, settings.ports, settings.congruence_epsilon)
    seeds = stream(seed, 0).integers(0, _SEEDS_END, size=settings.population, dtype=np.uint64)
    start = judge.pace.clock()

    def breed(span: slice) -> Population:
        _tell_first(judge, span.start, len(seeds), start)
        return random_population(seeds[span], limits)

    population, errors = _bred(judge, len(seeds), breed, lambda: judge.chunk)
    volumes = population.volumes()
    slopes = Slopes.of(errors, volumes, settings, None)
    return _fittest(0, population, errors, volumes, slopes, settings.population)


def _next(judge: Judge, state: Evolved, seed: int) -> Evolved:
    settings = judge.settings
    n = settings.population
    random = stream(seed, 1, state.generation + 1)
    n_pairs = (n + 1) // 2
    mothers = random.integers(0, n, size=n_pairs)
    fathers = (mothers + random.integers(1, n, size=n_pairs)) % n
    parents = np.stack([mothers, fathers], axis=1)
    seeds = random.integers(0, _SEEDS_END, size=n_pairs, dtype=np.uint64)
    drop = settings.duplicates == "drop"

    def breed(span: slice) -> Population:
        pairs = slice(span.start // 2, (span.stop + 1) // 2)
        born = children(state.population, parents[pairs], seeds[pairs], drop=drop)
        # An odd population has no room for the very last child.
        wanted = span.stop - span.start
        return born if born.n_mappings == wanted else chosen(born, np.arange(wanted))

    born, errors = _bred(judge, n, breed, lambda: LARGEST_CHUNK)
    population = joined([state.population, born])
    errors = np.concatenate([state.errors, errors])
    volumes = np.concatenate([state.volumes, born.volumes()])
    slopes = Slopes.of(errors, volumes, settings, state.slopes)
    return _fittest(state.generation + 1, population, errors, volumes, slopes, n)


def _bred(
    judge: Judge, wanted: int, breed: Callable[[slice], Population], chunk: Callable[[], int]
) -> tuple[Population, Floats]:
    parts: list[Population] = []
    errors: list[npt.NDArray[np.float64]] = []
    done = 0
    while done < wanted:
        part = breed(slice(done, min(done + chunk(), wanted)))
        parts.append(part)
        errors.append(judge.errors(part))
        done += part.n_mappings
    return joined(parts), np.concatenate(errors)


def _fittest(
    generation: int, population: Population, errors: Floats, volumes: Int64s, slopes: Slopes, n: int
) -> Evolved:
    picks = np.argsort(slopes.fitness(errors, volumes), kind="stable")[:n]  # on a tie, the elder stays
    return Evolved(generation, chosen(population, picks), errors[picks], volumes[picks], slopes)


def _tell_first(judge: Judge, done: int, total: int, start: float) -> None:
    """Until there is a generation to count, the mappings of the first one are what moves."""
    if judge.pace.due("first generation"):
        rate = done / max(judge.pace.clock() - start, 1e-9)
        judge.pace.emit(Progress(PHASE, done, total, rate, "mappings of the first generation", None))


def _tell(judge: Judge, state: Evolved, first: int, start: float, counted: int) -> None:
    seconds = max(judge.pace.clock() - start, 1e-9)
    rate = (state.generation - first) / seconds
    judge.pace.emit(
        Generation(
            generation=state.generation,
            best_error=float(state.errors[0]),
            mean_error=float(state.errors.mean()),
            best_volume=int(state.volumes[0]),
            mean_volume=float(state.volumes.mean()),
            evaluations_per_second=(judge.evaluations - counted) / seconds,
        )
    )
    limit = judge.settings.max_generations
    # The time to the limit; convergence may come first.
    eta = (limit - state.generation) / rate if rate > 0 else None
    if judge.pace.due(PHASE) or state.generation == limit:
        judge.pace.emit(Progress(PHASE, state.generation, limit, rate, "generations", eta))
