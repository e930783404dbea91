"""The greedy hill climb at the end (§5.1.3, local search)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inference.core.metrics import ERROR_UNIT
from inference.core.pmevo.breeding import Evolved
from inference.core.pmevo.fitness import FitnessGate, Slopes
from inference.core.pmevo.population import canonical, chosen, chosen_among
from inference.core.pmevo.variation import fingerprints
from inference.core.tables import MOST_COUNTED, Floats, Int64s, Population, row_types
from inference.core.throughput import EXACT_LIMIT

MOST_AT_ONCE = 256
"""Mappings whose climbs are one step of the search: what an interruption may cost, a second at most."""


class Climb:
    """The climbs from all mappings of a population, some at a time.

    `done` of the first of `starts` are local optima already, their errors and volumes with them. They are
    judged by the scale of their generation.
    """

    def __init__(self, judge: FitnessGate, starts: Evolved, done: int) -> None:
        self._judge = judge
        self._starts = starts
        self._better: list[tuple[Population, Floats]] = []
        self.done = done

    @property
    def total(self) -> int:
        """How many mappings there are."""
        return self._starts.population.n_mappings

    def go_on(self) -> None:
        """Climb from the next mappings."""
        picks = np.arange(self.done, min(self.done + MOST_AT_ONCE, self.total))
        self._better.append(climbed(self._judge, self._starts.population, picks, self._starts.slopes))
        self.done += len(picks)

    def state(self) -> Evolved:
        """The mappings with those climbed so far in the place of where they started."""
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
                population=chosen_among(parts, picks),
                errors=errors[picks],
                volumes=volumes[picks],
            )
        return self._starts


def climbed(
    judge: FitnessGate, population: Population, picks: Int64s, slopes: Slopes
) -> tuple[Population, Floats]:
    """The local optima next to some mappings, and what the judge says of each.

    For each µop of each scheme, its count goes down while the mapping stays at least as fit; if not even
    once, then up while the mapping becomes strictly fitter. A count may reach 0, which removes the µop; only
    the last µop of a scheme stays unless there is an R_max, because without either the scheme would take no
    time, and it was measured to take some.
    """
    from inference.core.kernels.climbing import climb  # loads numba
    from inference.core.kernels.layout import EvaluationArrays, Rows  # loads numba
    from inference.core.populations import (  # loads numba
        arrays_maker,
        mixes_of,
        picked_rows,
        rows_of,
        work_off,
    )

    evaluator, table = judge.evaluator, judge.table
    begun = canonical(chosen(population, picks))
    evaluator.check(begun)
    rows = rows_of(begun, 0, begun.n_mappings)
    # Every climb works in its own part of these, in which counts change and µops go.
    rows = Rows(rows.starts, rows.ends.copy(), rows.masks.copy(), rows.counts.copy())
    mixes = mixes_of(table, evaluator.floor)
    starts, members = table.by_scheme
    n, n_schemes = len(table), table.n_schemes
    schemes, everything = np.arange(n_schemes, dtype=np.int32), np.arange(n, dtype=np.int64)
    longest = int(np.diff(begun.offsets).max(initial=0))
    most_uops = min(MOST_COUNTED, (EXACT_LIMIT - 1) // int(table.lengths.max(initial=1)))
    totals = np.zeros(len(picks), dtype=np.int64)

    def piece(m: int) -> Callable[[EvaluationArrays], None]:
        own = slice(m * n_schemes, (m + 1) * n_schemes)

        def work(arrays: EvaluationArrays) -> None:
            totals[m] = climb(
                arrays,
                Rows(rows.starts[own], rows.ends[own], rows.masks, rows.counts),
                mixes,
                schemes,
                everything,
                starts,
                members,
                judge.measured,
                judge.loss,
                evaluator.largest_error,
                ERROR_UNIT,
                float(slopes.error),  # whole numbers would be compiled for, too
                float(slopes.volume),
                judge.settings.r_max is None,
                most_uops,
                np.empty(longest, dtype=np.int64),
                np.empty(n),
                np.empty(n, dtype=np.int64),
                np.empty(n, dtype=np.int64),
            )

        return work

    make_arrays = arrays_maker(evaluator, begun, n_schemes, tables=True)
    work_off([piece(m) for m in range(len(picks))], make_arrays, judge.threads, judge.pace.pulse)
    judge.evaluations += len(picks)
    ended = picked_rows(rows, np.arange(len(rows.starts)))
    mask_type, count_type = row_types(begun.n_ports, int(ended.counts.max(initial=0)))
    better = Population(
        np.concatenate(([0], ended.ends)),
        ended.masks.astype(mask_type),
        ended.counts.astype(count_type),
        len(picks),
        n_schemes,
        begun.n_ports,
    )
    return better, evaluator.mean_of(totals)


def without_repeats(evolved: Evolved, wanted: int) -> Evolved:
    """The first mappings that differ from all before them, at most `wanted`; the input is fittest first."""
    _, first = np.unique(fingerprints(evolved.population), return_index=True)
    picks = np.sort(first)[:wanted]
    return replace(
        evolved,
        population=chosen(evolved.population, picks),
        errors=evolved.errors[picks],
        volumes=evolved.volumes[picks],
        islands=(),
    )
