"""How the work on a population is cut up for the compiled kernels, and spread over threads.

Experiments of which the mappings of a population have few combinations of rows are evaluated combination by
combination (`kernels.variants`), the others mapping by mapping (`kernels.loops`). Importing this module loads
numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.core.evaluator import Evaluator, Floats
from inference.core.kernels.layout import Desk, Mixes, Rows, make_desk
from inference.core.kernels.loops import add_errors, fill_cycles
from inference.core.kernels.preparing import prepare
from inference.core.kernels.variants import add_shared_errors, number_variants
from inference.core.tables import ExperimentTable, Int64s, Population

_PIECE = 400_000
"""Evaluations between two pulses: some ten milliseconds."""

_SHARED_BELOW = 0.5
"""Combinations per mapping up to which evaluating them once each pays."""

_LEAST_TO_SHARE = 8  # mappings

_MOST_VARIANTS = 64
"""Rows of one scheme that are told apart: beyond, little is shared, and listing them takes room."""

_BEAT = 0.02  # seconds


def all_cycles(evaluator: Evaluator, population: Population, floor: Floats, threads: int) -> Floats:
    """Cycles float64[n_mappings, n_experiments], at least `floor` float64[n_experiments]."""
    rows, mixes = rows_of(population), mixes_of(evaluator.table, floor)
    out = np.empty((population.n_mappings, len(evaluator.table)))
    desks = _desks(evaluator, population, population.n_schemes, tables=True)
    occurring = evaluator.table.occurring
    everything = np.arange(len(evaluator.table), dtype=np.int64)

    def piece(first: int, last: int) -> Callable[[Desk], None]:
        return lambda desk: fill_cycles(desk, rows, mixes, occurring, everything, first, last, out)

    pieces = [piece(*block) for block in _blocks(population.n_mappings, len(evaluator.table))]
    _work_off(pieces, desks, threads, None)
    return out


def summed_errors(
    evaluator: Evaluator,
    population: Population,
    measured: Floats,
    threads: int,
    pulse: Callable[[], None] | None,
) -> Int64s:
    """The sum of relative errors per mapping, in multiples of `ERROR_UNIT`: int64[n_mappings]."""
    rows, mixes = rows_of(population), mixes_of(evaluator.table, evaluator.floor)
    task = _Task(evaluator, population, rows, mixes, measured)
    variants = _Variants.of(rows, population) if population.n_mappings >= _LEAST_TO_SHARE else None
    everything = np.arange(len(evaluator.table), dtype=np.int64)
    if variants is None:
        return task.directly(everything, threads, pulse)
    combinations = variants.combinations(evaluator.table)
    shared = combinations <= _SHARED_BELOW * population.n_mappings
    total = np.zeros(population.n_mappings, dtype=np.int64)
    if np.any(shared):
        total += task.shared(variants, everything[shared], combinations[shared], threads, pulse)
    if not np.all(shared):
        total += task.directly(everything[~shared], threads, pulse)
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
    def of(cls, rows: Rows, population: Population) -> _Variants:
        n_mappings, n_schemes = population.n_mappings, population.n_schemes
        of_mapping = np.empty((n_schemes, n_mappings), dtype=np.int32)
        first_row = np.empty((n_schemes, _MOST_VARIANTS), dtype=np.int64)
        found = np.empty(n_schemes, dtype=np.int64)
        slots = np.empty(4 * _MOST_VARIANTS, dtype=np.int32)
        number_variants(rows, n_mappings, n_schemes, slots, of_mapping, first_row, found)
        which = first_row[np.arange(_MOST_VARIANTS) < found[:, None]]
        return cls(
            rows=Rows(rows.starts[which], rows.ends[which], rows.masks, rows.counts),
            of_mapping=of_mapping,
            begin=np.concatenate(([0], np.cumsum(found))),
        )

    def combinations(self, table: ExperimentTable) -> Floats:
        """Per experiment, of how many combinations of rows the mappings could make use: float64[n]."""
        found = np.diff(self.begin).astype(np.float64)
        found[found == 0] = np.inf
        return np.asarray(np.multiply.reduceat(found[table.scheme], table.offsets[:-1]))


@dataclass(frozen=True, eq=False)
class _Task:
    evaluator: Evaluator
    population: Population
    rows: Rows
    mixes: Mixes
    measured: Floats

    def directly(self, which: Int64s, threads: int, pulse: Callable[[], None] | None) -> Int64s:
        """Mapping by mapping."""
        errors = np.zeros(self.population.n_mappings, dtype=np.int64)
        occurring = self.evaluator.table.occurring
        largest = self.evaluator.largest_error

        def piece(first: int, last: int) -> Callable[[Desk], None]:
            def work(desk: Desk) -> None:
                cycles = np.empty(len(which))
                add_errors(
                    desk,
                    self.rows,
                    self.mixes,
                    occurring,
                    which,
                    self.measured,
                    largest,
                    first,
                    last,
                    cycles,
                    errors,
                )

            return work

        pieces = [piece(*block) for block in _blocks(self.population.n_mappings, len(which))]
        desks = _desks(self.evaluator, self.population, self.population.n_schemes, tables=True)
        _work_off(pieces, desks, threads, pulse)
        return errors

    def shared(
        self,
        variants: _Variants,
        which: Int64s,
        combinations: Floats,
        threads: int,
        pulse: Callable[[], None] | None,
    ) -> Int64s:
        """Combination by combination."""
        n_variants = int(variants.begin[-1])
        parts: list[Int64s] = []
        room = int(combinations.max())
        largest = self.evaluator.largest_error

        def desk() -> Desk:
            made = _desks(self.evaluator, self.population, n_variants, tables=False)()
            prepare(made, variants.rows, 0, np.arange(n_variants, dtype=np.int32))
            return made

        def piece(first: int, last: int) -> Callable[[Desk], None]:
            def work(desk: Desk) -> None:
                errors = np.zeros(self.population.n_mappings, dtype=np.int64)
                table = np.empty(room, dtype=np.int64)
                add_shared_errors(
                    desk,
                    variants.rows,
                    self.mixes,
                    variants.of_mapping,
                    variants.begin,
                    which[first:last],
                    self.measured,
                    largest,
                    table,
                    errors,
                )
                parts.append(errors)

            return work

        # A look-up costs about a tenth of an evaluation.
        per_experiment = int(combinations.mean()) + self.population.n_mappings // 10 + 1
        pieces = [piece(*block) for block in _blocks(len(which), per_experiment)]
        _work_off(pieces, desk, threads, pulse)
        return np.asarray(np.sum(parts, axis=0, dtype=np.int64))


def rows_of(population: Population) -> Rows:
    """The rows of a population, mapping by mapping."""
    return Rows(population.offsets[:-1], population.offsets[1:], population.masks, population.counts)


def mixes_of(table: ExperimentTable, floor: Floats) -> Mixes:
    """The experiments of a table with the least that each can take."""
    return Mixes(table.offsets, table.scheme, table.count, floor)


def most_terms(table: ExperimentTable) -> int:
    """How many schemes an experiment has at most."""
    return int(np.diff(table.offsets).max(initial=1))


def _desks(
    evaluator: Evaluator, population: Population, n_places: int, *, tables: bool
) -> Callable[[], Desk]:
    longest = int(np.diff(population.offsets).max(initial=0))
    terms = most_terms(evaluator.table)
    return lambda: make_desk(n_places, evaluator.n_ports, longest * terms, terms, tables=tables)


def _blocks(n: int, cost: int) -> Iterator[tuple[int, int]]:
    """0 … n in pieces of some `_PIECE` evaluations, where each of the n costs `cost` of them."""
    size = max(1, _PIECE // max(1, cost))
    for first in range(0, n, size):
        yield first, min(first + size, n)


def _work_off(
    pieces: Sequence[Callable[[Desk], None]],
    make_desk: Callable[[], Desk],
    threads: int,
    pulse: Callable[[], None] | None,
) -> None:
    """Do all pieces, each thread at a desk of its own; between them the pulse beats on the calling thread."""
    threads = min(threads, max(1, len(pieces)))
    if threads == 1:
        desk = make_desk()
        for piece in pieces:
            piece(desk)
            if pulse is not None:
                pulse()
        return
    waiting = iter(pieces)
    stopped = False

    def work() -> None:
        desk = make_desk()
        while not stopped and (piece := next(waiting, None)) is not None:
            piece(desk)

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
