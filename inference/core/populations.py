"""How the work on a population is cut up for the compiled kernels, and spread over threads.

Experiments of which the mappings of a population have few combinations of rows are evaluated combination by
combination (`kernels.variants`), the others mapping by mapping (`kernels.loops`). Importing this module loads
numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from inference.core.kernels.layout import EvaluationArrays, Mixes, Rows, make_arrays
from inference.core.kernels.loops import add_errors, fill_cycles, prepare
from inference.core.kernels.variants import add_shared_errors, number_variants
from inference.core.metrics import Loss
from inference.core.tables import Counts, ExperimentTable, Floats, Int32s, Int64s, Masks, Population


class EvaluatedTable(Protocol):
    """What is needed of an `inference.core.evaluator.Evaluator`."""

    table: ExperimentTable
    n_ports: int
    floor: Floats

    @property
    def largest_error(self) -> float:
        """As much as one experiment counts at most."""
        ...


_PIECE = 400_000
"""Evaluations between two pulses: some ten milliseconds."""

Flags = npt.NDArray[np.bool_]

_COUNTED_BELOW = 16
_SHARED_BELOW = 0.45
"""Combinations that occur, per mapping, up to which evaluating them once each pays. They are counted where no
more than the former are possible."""

_LEAST_TO_SHARE = 8  # mappings

_MOST_VARIANTS = 512
"""Rows of one scheme that are told apart: beyond, little is shared, and arrays for all take room."""

_BEAT = 0.02  # seconds


def all_cycles(evaluator: EvaluatedTable, population: Population, floor: Floats, threads: int) -> Floats:
    """Cycles float64[n_mappings, n_experiments], at least `floor` float64[n_experiments]."""
    mixes = mixes_of(evaluator.table, floor)
    out = np.empty((population.n_mappings, len(evaluator.table)))
    desks = arrays_maker(evaluator, population, population.n_schemes, tables=True)
    occurring = evaluator.table.occurring
    everything = np.arange(len(evaluator.table), dtype=np.int64)

    def piece(first: int, last: int) -> Callable[[EvaluationArrays], None]:
        return lambda arrays: fill_cycles(
            arrays, rows_of(population, first, last), mixes, occurring, everything, out[first:last]
        )

    pieces = [piece(*block) for block in _blocks(population.n_mappings, len(evaluator.table))]
    work_off(pieces, desks, threads, None)
    return out


def summed_losses(
    evaluator: EvaluatedTable,
    population: Population,
    measured: Floats,
    loss: Loss,
    threads: int,
    pulse: Callable[[], None] | None,
) -> Int64s:
    """The sum of what all predictions count, per mapping, in multiples of `ERROR_UNIT`: int64[n_mappings]."""
    task = _Task(evaluator, population, mixes_of(evaluator.table, evaluator.floor), measured, loss)
    everything = np.arange(len(evaluator.table), dtype=np.int64)
    if population.n_mappings < _LEAST_TO_SHARE:
        return task.directly(everything, threads, pulse)
    variants = _Variants.of(population)
    starts, members = evaluator.table.same_schemes
    combinations = variants.combinations(evaluator.table, members[starts[:-1]])
    left = combinations > _COUNTED_BELOW * population.n_mappings
    total = np.zeros(population.n_mappings, dtype=np.int64)
    if not np.all(left):
        groups = np.flatnonzero(~left)
        total += task.shared(variants, groups, combinations[groups], left, threads, pulse)
    if np.any(left):
        rest = np.sort(members[np.repeat(left, np.diff(starts))])
        total += task.directly(rest, threads, pulse)
    return total


@dataclass(frozen=True, eq=False)
class _Variants:
    """The different rows of those schemes that have few.

    `rows`: one row per variant, those of scheme s from `begin[s]` to `begin[s + 1]`, none if it has too many.
    `of_mapping` int32[n_schemes, n_mappings]: which of its scheme's variants a mapping has.
    """

    rows: Rows
    of_mapping: Any
    begin: Int64s

    @classmethod
    def of(cls, population: Population) -> _Variants:
        n_mappings, n_schemes = population.n_mappings, population.n_schemes
        offsets = population.offsets
        of_mapping = np.empty((n_schemes, n_mappings), dtype=np.int32)
        first_row = np.empty((n_schemes, _MOST_VARIANTS), dtype=np.int64)
        found = np.empty(n_schemes, dtype=np.int64)
        slots = np.empty(4 * _MOST_VARIANTS, dtype=np.int32)
        as_stored = Rows(offsets[:-1], offsets[1:], population.masks, population.counts)
        number_variants(as_stored, n_mappings, n_schemes, slots, of_mapping, first_row, found)
        which = first_row[np.arange(_MOST_VARIANTS) < found[:, None]]
        return cls(picked_rows(as_stored, which), of_mapping, np.concatenate(([0], np.cumsum(found))))

    def combinations(self, table: ExperimentTable, which: Int64s) -> Floats:
        """Per experiment of `which`, of how many combinations of rows the mappings could make use."""
        found = np.diff(self.begin).astype(np.float64)
        found[found == 0] = np.inf
        return np.asarray(np.multiply.reduceat(found[table.scheme], table.offsets[:-1]))[which]


@dataclass(frozen=True, eq=False)
class _Task:
    evaluator: EvaluatedTable
    population: Population
    mixes: Mixes
    measured: Floats
    loss: Loss

    def directly(self, which: Int64s, threads: int, pulse: Callable[[], None] | None) -> Int64s:
        table, population = self.evaluator.table, self.population
        errors = np.zeros(population.n_mappings, dtype=np.int64)
        occurring = _schemes_of(table, which)
        largest = self.evaluator.largest_error

        def piece(first: int, last: int) -> Callable[[EvaluationArrays], None]:
            def work(arrays: EvaluationArrays) -> None:
                rows, cycles = rows_of(population, first, last), np.empty(len(which))
                add_errors(
                    arrays,
                    rows,
                    self.mixes,
                    occurring,
                    which,
                    self.measured,
                    self.loss,
                    largest,
                    cycles,
                    errors[first:last],
                )

            return work

        pieces = [piece(*block) for block in _blocks(population.n_mappings, len(which))]
        desks = arrays_maker(self.evaluator, population, population.n_schemes, tables=True)
        work_off(pieces, desks, threads, pulse)
        return errors

    def shared(
        self,
        variants: _Variants,
        groups: Int64s,
        combinations: Floats,
        left: Flags,
        threads: int,
        pulse: Callable[[], None] | None,
    ) -> Int64s:
        """Combination by combination; groups with too many are marked in `left` instead."""
        n_variants, n_mappings = int(variants.begin[-1]), self.population.n_mappings
        starts, members = self.evaluator.table.same_schemes
        parts: list[Int64s] = []
        room = int(combinations.max())
        largest = self.evaluator.largest_error

        def arrays() -> EvaluationArrays:
            made = arrays_maker(self.evaluator, self.population, n_variants, tables=True)()
            prepare(made, variants.rows, 0, np.arange(n_variants, dtype=np.int32))
            return made

        def piece(first: int, last: int) -> Callable[[EvaluationArrays], None]:
            def work(arrays: EvaluationArrays) -> None:
                errors = np.zeros(n_mappings, dtype=np.int64)
                table = np.empty(room, dtype=np.int64)
                add_shared_errors(
                    arrays,
                    variants.rows,
                    self.mixes,
                    variants.of_mapping,
                    variants.begin,
                    starts,
                    members,
                    groups[first:last],
                    self.measured,
                    self.loss,
                    largest,
                    table,
                    np.empty(n_mappings, dtype=np.int32),
                    np.empty(n_mappings, dtype=np.int32),
                    int(_SHARED_BELOW * n_mappings),
                    left,
                    errors,
                )
                parts.append(errors)

            return work

        # A look-up costs about a tenth of an evaluation.
        evaluations = int(np.minimum(combinations, n_mappings).mean() * np.diff(starts)[groups].mean())
        pieces = [piece(*block) for block in _blocks(len(groups), evaluations + n_mappings // 10 + 1)]
        work_off(pieces, arrays, threads, pulse)
        return np.asarray(np.sum(parts, axis=0, dtype=np.int64))


def rows_of(population: Population, first: int, last: int) -> Rows:
    """The rows of the mappings from `first` to `last`, mapping by mapping, as the loops take them."""
    n = population.n_schemes
    offsets = population.offsets[first * n : last * n + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    offsets = offsets - offsets[0]
    return _rows(offsets[:-1], offsets[1:], population.masks[span], population.counts[span])


def picked_rows(rows: Rows, which: Int64s) -> Rows:
    """The rows with these numbers, without what lies between them."""
    lengths = rows.ends[which] - rows.starts[which]
    ends = np.cumsum(lengths)
    entries = np.arange(int(lengths.sum())) + np.repeat(rows.starts[which] - ends + lengths, lengths)
    return _rows(ends - lengths, ends, rows.masks[entries], rows.counts[entries])


def _rows(starts: Int64s, ends: Int64s, masks: Masks, counts: Counts) -> Rows:
    return Rows(starts, ends, masks.astype(np.int64, copy=False), counts.astype(np.int32, copy=False))


def _schemes_of(table: ExperimentTable, which: Int64s) -> Int32s:
    """The numbers of the schemes in some of the experiments, ascending."""
    chosen = np.zeros(len(table), dtype=np.bool_)
    chosen[which] = True
    return np.unique(table.scheme[np.repeat(chosen, np.diff(table.offsets))])


def mixes_of(table: ExperimentTable, floor: Floats) -> Mixes:
    """The experiments of a table with the least that each can take."""
    return Mixes(table.offsets, table.scheme, table.count, floor)


def most_terms(table: ExperimentTable) -> int:
    """How many schemes an experiment has at most."""
    return int(np.diff(table.offsets).max(initial=1))


def arrays_maker(
    evaluator: EvaluatedTable, population: Population, n_places: int, *, tables: bool
) -> Callable[[], EvaluationArrays]:
    """What makes arrays with so many places, and scratch room for any experiment under the population."""
    longest = int(np.diff(population.offsets).max(initial=0))
    terms = most_terms(evaluator.table)
    return lambda: make_arrays(n_places, evaluator.n_ports, longest * terms, terms, tables=tables)


def _blocks(n: int, cost: int) -> Iterator[tuple[int, int]]:
    """0 … n in pieces of some `_PIECE` evaluations, where each of the n costs `cost` of them."""
    size = max(1, _PIECE // max(1, cost))
    for first in range(0, n, size):
        yield first, min(first + size, n)


def work_off(
    pieces: Sequence[Callable[[EvaluationArrays], None]],
    make_arrays: Callable[[], EvaluationArrays],
    threads: int,
    pulse: Callable[[], None] | None,
) -> None:
    """Do all pieces, each thread with its own arrays; between them the pulse beats on the calling thread."""
    threads = min(threads, max(1, len(pieces)))
    if threads == 1:
        arrays = make_arrays()
        for piece in pieces:
            piece(arrays)
            if pulse is not None:
                pulse()
        return
    waiting = iter(pieces)
    stopped = False

    def work() -> None:
        arrays = make_arrays()
        while not stopped and (piece := next(waiting, None)) is not None:
            piece(arrays)

    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[None]] = {pool.submit(work) for _ in range(threads)}
        try:
            while running:
                done, running = wait(running, timeout=_BEAT, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if pulse is not None:
                    pulse()
        finally:
            stopped = True
