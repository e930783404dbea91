"""The greedy hill climb at the end (§5.1.3, local search)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inference.core.metrics import ERROR_UNIT
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.fitness import FitnessGate, Slopes
from inference.core.pmevo.population import canonical, select, select_among
from inference.core.pmevo.variation import fingerprints
from inference.core.tables import MAX_COUNT, Floats, Int64s, Population, row_types
from inference.core.throughput import EXACT_LIMIT

MAPPINGS_PER_STEP = 256
"""Mappings per step of the climb: an interruption loses at most one step, about a second."""


class Climb:
    """Climbs from all mappings of a population, `MAPPINGS_PER_STEP` at a time.

    The first `done` of `starts` are local optima already, with their errors and volumes. Fitness has the
    scale of their generation.
    """

    def __init__(self, judge: FitnessGate, starts: Evolution, done: int) -> None:
        self._judge = judge
        self._starts = starts
        self._better: list[tuple[Population, Floats]] = []
        self.done = done

    @property
    def total(self) -> int:
        """Number of mappings to climb from."""
        return self._starts.population.n_mappings

    def go_on(self) -> None:
        """Climb from the next `MAPPINGS_PER_STEP` mappings."""
        picks = np.arange(self.done, min(self.done + MAPPINGS_PER_STEP, self.total))
        self._better.append(local_optima(self._judge, self._starts.population, picks, self._starts.slopes))
        self.done += len(picks)

    def state(self) -> Evolution:
        """The mappings, with local optima in the places of those climbed from so far."""
        if self._better:
            fresh = sum(population.n_mappings for population, _ in self._better)
            picks = np.arange(self.total)
            picks[self.done - fresh : self.done] = np.arange(self.total, self.total + fresh)
            parts = [self._starts.population, *(population for population, _ in self._better)]
            errors = np.concatenate([self._starts.errors, *(errors for _, errors in self._better)])
            volumes = np.concatenate([self._starts.volumes, *(part.volumes() for part in parts[1:])])
            self._better = []
            self._starts = replace(
                self._starts,
                population=select_among(parts, picks),
                errors=errors[picks],
                volumes=volumes[picks],
            )
        return self._starts


def local_optima(
    judge: FitnessGate, population: Population, picks: Int64s, slopes: Slopes
) -> tuple[Population, Floats]:
    """The local optima next to some mappings, and the mean loss of each.

    For each µop of each scheme, its count goes down while the mapping stays at least as fit; if not even
    once, then up while the mapping becomes strictly fitter. A count of 0 removes the µop. The last µop of a
    scheme is kept unless there is an R_max, as the scheme would take no time without either.

    Args:
        judge: The experiments, and the loss of their errors.
        population: Mappings.
        picks: Positions of the mappings to start from.
        slopes: Weights of the mean error and of the number of ports.

    Returns:
        The optima in the order of `picks`, and the mean loss of each, float64[picks].
    """
    from inference.core.kernels.climbing import ClimbObjective, ClimbScratch, ClimbTable, climb  # loads numba
    from inference.core.kernels.layout import EvaluationArrays, Rows  # loads numba
    from inference.core.populations import (  # loads numba
        mixes_of,
        rows_of,
        run_pieces,
        scratch_maker,
        select_rows,
    )

    evaluator, table = judge.evaluator, judge.table
    begun = canonical(select(population, picks))
    evaluator.check(begun)
    rows = rows_of(begun, 0, begun.n_mappings)
    # Every climb changes counts and removes µops in its own part of these arrays.
    rows = Rows(rows.starts, rows.ends.copy(), rows.masks.copy(), rows.counts.copy())
    mixes = mixes_of(table, evaluator.floor)
    n, n_schemes = len(table), table.n_schemes
    numbers = np.arange(n_schemes, dtype=np.int32), np.arange(n, dtype=np.int64)
    climbed = ClimbTable(*numbers, *table.by_scheme)
    objective = ClimbObjective(
        judge.measured,
        judge.loss,
        evaluator.largest_error,
        ERROR_UNIT,
        float(slopes.error),  # an int would compile another variant
        float(slopes.volume),
        judge.settings.r_max is None,
        min(MAX_COUNT, (EXACT_LIMIT - 1) // int(table.lengths.max(initial=1))),
    )
    longest = int(np.diff(begun.offsets).max(initial=0))
    totals = np.zeros(len(picks), dtype=np.int64)

    def piece(m: int) -> Callable[[EvaluationArrays], None]:
        own_rows = slice(m * n_schemes, (m + 1) * n_schemes)

        def work(arrays: EvaluationArrays) -> None:
            scratch = ClimbScratch(
                np.empty(longest, dtype=np.int64), np.empty(n), *np.empty((2, n), dtype=np.int64)
            )
            climbed_rows = Rows(rows.starts[own_rows], rows.ends[own_rows], rows.masks, rows.counts)
            totals[m] = climb(arrays, climbed_rows, mixes, climbed, objective, scratch)

        return work

    make_arrays = scratch_maker(evaluator, begun, n_schemes, tables=True)
    run_pieces([piece(m) for m in range(len(picks))], make_arrays, judge.threads, judge.pace.pulse)
    judge.evaluations += len(picks)
    ended = select_rows(rows, np.arange(len(rows.starts)))
    better = _population_like(begun, ended.ends, ended.masks, ended.counts)
    return better, evaluator.mean_of(totals)


def _population_like(model: Population, ends: Int64s, masks: Int64s, counts: Int64s) -> Population:
    """A population of as many mappings, schemes and ports, in the smallest types that hold its rows."""
    mask_type, count_type = row_types(model.n_ports, int(counts.max(initial=0)))
    return Population(
        np.concatenate(([0], ends)),
        masks.astype(mask_type),
        counts.astype(count_type),
        model.n_mappings,
        model.n_schemes,
        model.n_ports,
    )


def distinct_mappings(evolved: Evolution, limit: int) -> Evolution:
    """The first mappings that differ from all before them, at most `limit`; the input is fittest first."""
    _, first = np.unique(fingerprints(evolved.population), return_index=True)
    picks = np.sort(first)[:limit]
    return replace(
        evolved,
        population=select(evolved.population, picks),
        errors=evolved.errors[picks],
        volumes=evolved.volumes[picks],
        islands=(),
    )
