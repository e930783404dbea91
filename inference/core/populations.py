"""How the work on a population is divided for the compiled kernels, and distributed over threads.

Experiments for which the mappings of a population have few combinations of rows are evaluated combination by
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
    """The part of `inference.core.evaluator.Evaluator` that the functions here need."""

    table: ExperimentTable
    n_ports: int
    floor: Floats

    @property
    def largest_error(self) -> float:
        """The cap of the loss of one experiment."""
        ...


_PIECE_EVALUATIONS = 400_000
"""Evaluations between two pulses: about ten milliseconds."""

Flags = npt.NDArray[np.bool_]

_MAX_COUNTED = 16
_MAX_SHARED = 0.45
"""Combinations that occur, per mapping, up to which evaluating each of them once is quicker. They are counted
where at most `_MAX_COUNTED` per mapping are possible.
"""

_MIN_SHARED_MAPPINGS = 8  # mappings

_MAX_VARIANTS = 512
"""Largest number of different rows of one scheme: beyond it little is shared, and the arrays get large."""

_PULSE_INTERVAL = 0.02  # seconds


def all_cycles(evaluator: EvaluatedTable, population: Population, floor: Floats, threads: int) -> Floats:
    """Cycles float64[n_mappings, n_experiments], at least `floor` float64[n_experiments]."""
    mixes = mixes_of(evaluator.table, floor)
    out = np.empty((population.n_mappings, len(evaluator.table)))
    scratch = scratch_maker(evaluator, population, population.n_schemes, tables=True)
    occurring = evaluator.table.occurring
    experiments = np.arange(len(evaluator.table), dtype=np.int64)

    def piece(first: int, last: int) -> Callable[[EvaluationArrays], None]:
        return lambda arrays: fill_cycles(
            arrays, rows_of(population, first, last), mixes, occurring, experiments, out[first:last]
        )

    pieces = [piece(*block) for block in _blocks(population.n_mappings, len(evaluator.table))]
    run_pieces(pieces, scratch, threads, None)
    return out


def summed_losses(
    evaluator: EvaluatedTable,
    population: Population,
    measured: Floats,
    loss: Loss,
    threads: int,
    pulse: Callable[[], None] | None,
) -> Int64s:
    """The summed loss of all predictions per mapping.

    Args:
        evaluator: The experiments.
        population: The mappings.
        measured: Cycles of the experiments, float64[n].
        loss: Loss of an error.
        threads: Number of threads.
        pulse: Called now and then; may raise to end the computation.

    Returns:
        int64[n_mappings], in multiples of `ERROR_UNIT`.
    """
    task = _Task(evaluator, population, mixes_of(evaluator.table, evaluator.floor), measured, loss)
    experiments = np.arange(len(evaluator.table), dtype=np.int64)
    if population.n_mappings < _MIN_SHARED_MAPPINGS:
        return task.per_mapping(experiments, threads, pulse)
    variants = _Variants.of(population)
    starts, members = evaluator.table.same_schemes
    combinations = variants.combinations(evaluator.table, members[starts[:-1]])
    is_unshared = combinations > _MAX_COUNTED * population.n_mappings
    total = np.zeros(population.n_mappings, dtype=np.int64)
    if not np.all(is_unshared):
        groups = np.flatnonzero(~is_unshared)
        total += task.per_combination(variants, groups, combinations[groups], is_unshared, threads, pulse)
    if np.any(is_unshared):
        unshared = np.sort(members[np.repeat(is_unshared, np.diff(starts))])
        total += task.per_mapping(unshared, threads, pulse)
    return total


@dataclass(frozen=True, eq=False)
class _Variants:
    """The different rows of those schemes that have few.

    `rows`: one row per variant, those of scheme s from `begin[s]` to `begin[s + 1]`; none if it has too many.
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
        first_row = np.empty((n_schemes, _MAX_VARIANTS), dtype=np.int64)
        sizes = np.empty(n_schemes, dtype=np.int64)
        slots = np.empty(4 * _MAX_VARIANTS, dtype=np.int32)
        as_stored = Rows(offsets[:-1], offsets[1:], population.masks, population.counts)
        number_variants(as_stored, n_mappings, n_schemes, slots, of_mapping, first_row, sizes)
        first_rows = first_row[np.arange(_MAX_VARIANTS) < sizes[:, None]]
        return cls(select_rows(as_stored, first_rows), of_mapping, np.concatenate(([0], np.cumsum(sizes))))

    def combinations(self, table: ExperimentTable, experiments: Int64s) -> Floats:
        """Per experiment, combinations of rows that the mappings can have; infinite for too many."""
        n_variants = np.diff(self.begin).astype(np.float64)
        n_variants[n_variants == 0] = np.inf
        return np.asarray(np.multiply.reduceat(n_variants[table.scheme], table.offsets[:-1]))[experiments]


@dataclass(frozen=True, eq=False)
class _Task:
    evaluator: EvaluatedTable
    population: Population
    mixes: Mixes
    measured: Floats
    loss: Loss

    def per_mapping(self, experiments: Int64s, threads: int, pulse: Callable[[], None] | None) -> Int64s:
        table, population = self.evaluator.table, self.population
        errors = np.zeros(population.n_mappings, dtype=np.int64)
        occurring = _schemes_of(table, experiments)
        largest = self.evaluator.largest_error

        def piece(first: int, last: int) -> Callable[[EvaluationArrays], None]:
            def work(arrays: EvaluationArrays) -> None:
                rows, cycles = rows_of(population, first, last), np.empty(len(experiments))
                add_errors(
                    arrays,
                    rows,
                    self.mixes,
                    occurring,
                    experiments,
                    self.measured,
                    self.loss,
                    largest,
                    cycles,
                    errors[first:last],
                )

            return work

        pieces = [piece(*block) for block in _blocks(population.n_mappings, len(experiments))]
        scratch = scratch_maker(self.evaluator, population, population.n_schemes, tables=True)
        run_pieces(pieces, scratch, threads, pulse)
        return errors

    def per_combination(
        self,
        variants: _Variants,
        groups: Int64s,
        combinations: Floats,
        is_unshared: Flags,
        threads: int,
        pulse: Callable[[], None] | None,
    ) -> Int64s:
        """Losses, once per combination of rows; groups with too many are marked in `is_unshared` instead."""
        n_variants, n_mappings = int(variants.begin[-1]), self.population.n_mappings
        starts, members = self.evaluator.table.same_schemes
        parts: list[Int64s] = []
        room = int(combinations.max())
        largest = self.evaluator.largest_error

        def arrays() -> EvaluationArrays:
            scratch = scratch_maker(self.evaluator, self.population, n_variants, tables=True)()
            prepare(scratch, variants.rows, 0, np.arange(n_variants, dtype=np.int32))
            return scratch

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
                    int(_MAX_SHARED * n_mappings),
                    is_unshared,
                    errors,
                )
                parts.append(errors)

            return work

        # A look-up costs about a tenth of an evaluation.
        evaluations = int(np.minimum(combinations, n_mappings).mean() * np.diff(starts)[groups].mean())
        pieces = [piece(*block) for block in _blocks(len(groups), evaluations + n_mappings // 10 + 1)]
        run_pieces(pieces, arrays, threads, pulse)
        return np.asarray(np.sum(parts, axis=0, dtype=np.int64))


def rows_of(population: Population, first: int, last: int) -> Rows:
    """The rows of some mappings, mapping by mapping, as the loops take them.

    Args:
        population: All mappings.
        first: Position of the first mapping.
        last: Position behind the last one.
    """
    n = population.n_schemes
    offsets = population.offsets[first * n : last * n + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    offsets = offsets - offsets[0]
    return _rows(offsets[:-1], offsets[1:], population.masks[span], population.counts[span])


def select_rows(rows: Rows, numbers: Int64s) -> Rows:
    """The rows with these numbers, copied without the entries between them."""
    lengths = rows.ends[numbers] - rows.starts[numbers]
    ends = np.cumsum(lengths)
    entries = np.arange(int(lengths.sum())) + np.repeat(rows.starts[numbers] - ends + lengths, lengths)
    return _rows(ends - lengths, ends, rows.masks[entries], rows.counts[entries])


def _rows(starts: Int64s, ends: Int64s, masks: Masks, counts: Counts) -> Rows:
    return Rows(starts, ends, masks.astype(np.int64, copy=False), counts.astype(np.int32, copy=False))


def _schemes_of(table: ExperimentTable, experiments: Int64s) -> Int32s:
    """The numbers of the schemes in some of the experiments, ascending."""
    mask = np.zeros(len(table), dtype=np.bool_)
    mask[experiments] = True
    return np.unique(table.scheme[np.repeat(mask, np.diff(table.offsets))])


def mixes_of(table: ExperimentTable, floor: Floats) -> Mixes:
    """The experiments of a table with `floor`, the fewest cycles that each can take."""
    return Mixes(table.offsets, table.scheme, table.count, floor)


def max_terms(table: ExperimentTable) -> int:
    """Largest number of different schemes in an experiment; at least 1."""
    return int(np.diff(table.offsets).max(initial=1))


def scratch_maker(
    evaluator: EvaluatedTable, population: Population, n_places: int, *, tables: bool
) -> Callable[[], EvaluationArrays]:
    """A factory of scratch arrays for an evaluation, one call per thread.

    Args:
        evaluator: The experiments; the arrays have room for any of them.
        population: The arrays have room for its longest row.
        n_places: Number of rows that are prepared at a time.
        tables: Whether to reserve tables of unions of ports.
    """
    longest = int(np.diff(population.offsets).max(initial=0))
    terms = max_terms(evaluator.table)
    return lambda: make_arrays(n_places, evaluator.n_ports, longest * terms, terms, tables=tables)


def _blocks(n: int, cost: int) -> Iterator[tuple[int, int]]:
    """0 … n in ranges of about `_PIECE_EVALUATIONS` evaluations, where each of the n costs `cost` of them."""
    size = max(1, _PIECE_EVALUATIONS // max(1, cost))
    for first in range(0, n, size):
        yield first, min(first + size, n)


def run_pieces(
    pieces: Sequence[Callable[[EvaluationArrays], None]],
    make_arrays: Callable[[], EvaluationArrays],
    threads: int,
    pulse: Callable[[], None] | None,
) -> None:
    """Run all pieces, each thread with scratch arrays of its own.

    Args:
        pieces: Functions of the arrays; they write to different places.
        make_arrays: A function from `scratch_maker`.
        threads: At most so many; with 1, all run on the calling thread.
        pulse: Called on the calling thread between pieces or every 20 ms; what it raises ends the work.
    """
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
                done, running = wait(running, timeout=_PULSE_INTERVAL, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if pulse is not None:
                    pulse()
        finally:
            stopped = True
