"""The generations of one population (§5.1.3, Algorithm 5.1): recombine, evaluate, select.

Extensions to the paper are a setting each: `inheritance`, `mutation`, `parents`, `repeats`, and with the
search "both" `refits`. None of them changes the random numbers of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.events import Progress
from inference.core.pmevo.fitness import LARGEST_CHUNK, FitnessGate, Slopes
from inference.core.pmevo.population import (
    children,
    concatenate,
    count_limits,
    random_population,
    select,
    select_among,
)
from inference.core.pmevo.refit.chain import lists_of
from inference.core.pmevo.refit.objective import Objective, Prices
from inference.core.pmevo.refit.port_sets import PortSets
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.variation import fingerprints, inherit_rows, mutate
from inference.core.tables import Floats, Int64s, Population


class Improver:
    """Re-fits `refits` random schemes of a mapping; `times`: cycles of each scheme alone."""

    def __init__(self, judge: FitnessGate, times: Floats) -> None:
        settings = judge.settings
        self._arrays = SearchArrays(
            judge.evaluator, judge.measured, times, np.ones(len(times), dtype=np.int64)
        )
        self._n_schemes = min(settings.refits, len(times))
        self._sets = PortSets.of(settings.n_ports, self._arrays.widest)
        self._prices = Prices(
            settings.kind_price * self._arrays.experiments_per_scheme,
            settings.volume_price * self._arrays.experiments_per_scheme,
        )
        self._objective = Objective(judge.loss, per_slot=0.0)
        self._ports = settings.n_ports

    def improve(self, population: Population, random: np.random.Generator) -> Population:
        """The first mapping of a population with some schemes re-fitted, as a population of one."""
        usage = Usage.of(population, 0)
        for scheme in random.choice(len(usage.sizes), size=self._n_schemes, replace=False).tolist():
            lists = lists_of(usage, self._sets, np.empty(0, dtype=np.int64))
            self._arrays.refit(usage, scheme, lists, self._prices, self._objective, keep=True)
        return usage.population(self._ports)


PHASE = "evolution"
_SEEDS_END = 1 << 64  # exclusive: a seed is any uint64
_IMPROVING = 5  # stage of the random stream

Seeds = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Evolution:
    """The mappings of a generation, fittest first, their objectives, and the scale of their fitness.

    `islands`: the separate populations that this is the union of; empty for a single population.
    """

    generation: int
    population: Population
    errors: Floats
    volumes: Int64s
    slopes: Slopes
    islands: tuple[Evolution, ...] = ()

    def converged(self, tolerance: float) -> bool:
        """Whether the range of both objectives is at most this share of their smallest values."""
        return _spread(self.errors) <= tolerance and _spread(self.volumes.astype(np.float64)) <= tolerance


def _spread(values: Floats) -> float:
    low, high = float(values.min()), float(values.max())
    return (high - low) / low if low > 0 else high - low


class Breeder:
    """Breeds one population of `size` mappings.

    Args:
        scheme_times: Cycles of each scheme alone, in the order of the judge's table.
        stage: Key of the population's random stream.
    """

    def __init__(
        self, judge: FitnessGate, scheme_times: list[float], seed: int, size: int, stage: tuple[int, ...] = ()
    ) -> None:
        settings = judge.settings
        self._judge = judge
        self._settings = settings
        self._limits = count_limits(scheme_times, settings.n_ports, settings.congruence_epsilon)
        self._seed = seed
        self._size = size
        self._stage = stage
        self._improver = None
        if settings.search == "both" and settings.refits:
            self._improver = Improver(judge, np.array(scheme_times))

    def first(self) -> Evolution:
        """The first generation: random mappings (§5.1.3)."""
        seeds = self._stream(0).integers(0, _SEEDS_END, size=self._size, dtype=np.uint64)
        start = self._judge.pace.clock()

        def breed(span: slice) -> Population:
            _report_first(self._judge, span.start, len(seeds), start)
            return random_population(seeds[span], self._limits)

        population, errors = self._breed(breed, lambda: self._judge.chunk)
        volumes = population.volumes()
        slopes = Slopes.of(errors, volumes, self._settings, None)
        return self._fittest(0, [population], errors, volumes, slopes)

    def next(self, state: Evolution) -> Evolution:
        """The next generation: the fittest of this one and its children."""
        random = self._stream(1, state.generation + 1)
        parents = self._parents(random)
        seeds = random.integers(0, _SEEDS_END, size=len(parents), dtype=np.uint64)
        changes = self._changes(random, 2 * len(parents))

        def breed(span: slice) -> Population:
            pairs = slice(span.start // 2, (span.stop + 1) // 2)
            born = self._recombine(state.population, parents[pairs], seeds[pairs])
            if changes is not None:
                born = mutate(born, changes[2 * pairs.start : 2 * pairs.stop], self._rate, self._limits)
            # An odd population has no room for the very last child.
            n_children = span.stop - span.start
            return born if born.n_mappings == n_children else select(born, np.arange(n_children))

        born = concatenate([breed(span) for span in _spans(self._size)])
        if self._improver is not None:
            better = self._improver.improve(state.population, self._stream(_IMPROVING, state.generation + 1))
            # In the place of the last child.
            born = select(concatenate([born, better]), np.delete(np.arange(self._size + 1), self._size - 1))
        # All at once, as rows that children share are evaluated once.
        errors = np.concatenate([state.errors, self._judge.errors(born)])
        volumes = np.concatenate([state.volumes, born.volumes()])
        slopes = Slopes.of(errors, volumes, self._settings, state.slopes)
        return self._fittest(state.generation + 1, [state.population, born], errors, volumes, slopes)

    def receive(self, state: Evolution, newcomers: Evolution) -> Evolution:
        """The fittest of a population and of migrants, by the population's scale."""
        return self._fittest(
            state.generation,
            [state.population, newcomers.population],
            np.concatenate([state.errors, newcomers.errors]),
            np.concatenate([state.volumes, newcomers.volumes]),
            state.slopes,
        )

    def _stream(self, *stage: int) -> np.random.Generator:
        """The random stream of one generation, independent of those before."""
        spawned = np.random.SeedSequence(self._seed, spawn_key=(*self._stage, *stage))
        return np.random.Generator(np.random.PCG64(spawned))

    def _parents(self, random: np.random.Generator) -> Int64s:
        """Pairs of different mappings: int64[n_pairs, 2]."""
        n, pairs = self._size, (self._size + 1) // 2
        if self._settings.parents == "tournament":
            # The population is fittest first: the smaller of two numbers is the fitter.
            mothers = random.integers(0, n, size=(2, pairs)).min(axis=0)
            steps = (random.integers(0, n, size=(2, pairs)).min(axis=0) - mothers) % n
            steps[steps == 0] = 1
        else:
            mothers = random.integers(0, n, size=pairs)
            steps = random.integers(1, n, size=pairs)
        return np.stack([mothers, (mothers + steps) % n], axis=1)

    def _changes(self, random: np.random.Generator, count: int) -> Seeds | None:
        if self._settings.mutation == 0:
            return None
        return random.integers(0, _SEEDS_END, size=count, dtype=np.uint64)

    @property
    def _rate(self) -> float:
        return min(1.0, self._settings.mutation / len(self._limits))

    def _recombine(self, population: Population, parents: Int64s, seeds: Seeds) -> Population:
        if self._settings.inheritance == "rows":
            return inherit_rows(population, parents, seeds)
        return children(population, parents, seeds, drop=self._settings.duplicates == "drop")

    def _breed(
        self, breed: Callable[[slice], Population], chunk: Callable[[], int]
    ) -> tuple[Population, Floats]:
        """The whole population and its errors, bred and judged in chunks of a size that `chunk` chooses."""
        parts: list[Population] = []
        errors: list[Floats] = []
        done = 0
        while done < self._size:
            part = breed(slice(done, min(done + chunk(), self._size)))
            parts.append(part)
            errors.append(self._judge.errors(part))
            done += part.n_mappings
        return concatenate(parts), np.concatenate(errors)

    def _fittest(
        self, generation: int, parts: Sequence[Population], errors: Floats, volumes: Int64s, slopes: Slopes
    ) -> Evolution:
        order = np.argsort(slopes.fitness(errors, volumes), kind="stable")  # on a tie, the elder stays
        if self._settings.repeats == "replace":
            order = _repeats_last(parts, order)
        picks = order[: self._size]
        return Evolution(generation, select_among(parts, picks), errors[picks], volumes[picks], slopes)


def _spans(size: int) -> Iterator[slice]:
    """Ranges of `size` children, in chunks of whole pairs."""
    for first in range(0, size, LARGEST_CHUNK):
        yield slice(first, min(first + LARGEST_CHUNK, size))


def _repeats_last(parts: Sequence[Population], order: Int64s) -> Int64s:
    """The order with mappings that equal an earlier one moved to the end."""
    content = np.concatenate([fingerprints(part) for part in parts])
    first = np.zeros(len(order), dtype=np.bool_)
    first[np.unique(content[order], return_index=True)[1]] = True
    return np.concatenate([order[first], order[~first]])


def _report_first(judge: FitnessGate, done: int, total: int, start: float) -> None:
    """Report the progress of the first generation in mappings."""
    if judge.pace.due("first generation"):
        rate = done / max(judge.pace.clock() - start, 1e-9)
        judge.pace.emit(Progress(PHASE, done, total, rate, "mappings of the first generation", None))
