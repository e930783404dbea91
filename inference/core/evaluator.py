"""Many experiments under many mappings: the hot path of PMEvo, and of every evaluation page.

The result is the same, bit for bit, with compiled kernels and without, for any number of threads, and equal
to `throughput.inverse_throughput`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from types import ModuleType

import numpy as np

from inference.core import evaluator_numpy
from inference.core.errors import InvalidInputError
from inference.core.evaluator_engines import MAX_TABLE_PORTS, Engine, TableEngine, UnionEngine
from inference.core.evaluator_numpy import Floats
from inference.core.mapping import MAX_PORTS, PortMapping, Uops
from inference.core.tables import ExperimentTable, Int64s, Population


class Evaluator:
    """Evaluates the experiments of one table under mappings with `n_ports` ports.

    `r_max`: instructions per cycle that the bottleneck outside the ports lets through, None for no such
    bound; it is the same for all mappings (`cycles_one` takes the mapping's own). `compiled`: numba kernels
    (True; ImportError without numba), numpy (False), or whichever there is (None).
    """

    def __init__(
        self,
        table: ExperimentTable,
        n_ports: int,
        r_max: float | None = None,
        *,
        compiled: bool | None = None,
    ) -> None:
        if not 1 <= n_ports <= MAX_PORTS:
            raise InvalidInputError(f"a port mapping has 1 to {MAX_PORTS} ports, not {n_ports}")
        if np.any(np.diff(table.offsets) < 1):
            raise InvalidInputError("every experiment of a table needs at least one scheme")
        self.table = table
        self.n_ports = n_ports
        self.kernels = _kernels(compiled)
        self.floor = _floor(table, r_max)

    @cached_property
    def everything(self) -> Int64s:
        """The indices of all experiments."""
        return np.arange(len(self.table), dtype=np.int64)

    def cycles(self, population: Population, threads: int = 1) -> Floats:
        """Inverse throughput in cycles: float64[n_mappings, n_experiments]."""
        out = np.empty((population.n_mappings, len(self.table)))

        def evaluate(engine: Engine, index: int) -> None:
            engine.cycles(self.everything, self.floor, out[index])

        self._for_each(population, threads, evaluate)
        return out

    def mean_relative_error(self, population: Population, measured: Floats, threads: int = 1) -> Floats:
        """D_avg of thesis §5.1.3: mean of |tp⁻¹ − measured| / measured, as a fraction: float64[n_mappings].

        `measured`: cycles > 0 per experiment, in the order of the table. Memory: one row per thread.
        """
        measured = self.checked(measured)
        out = np.empty(population.n_mappings)

        def evaluate(engine: Engine, index: int) -> None:
            row = np.empty(len(self.table))
            engine.cycles(self.everything, self.floor, row)
            out[index] = self.kernels.mean_relative_error(row, measured)

        self._for_each(population, threads, evaluate)
        return out

    def cycles_one(self, mapping: PortMapping) -> Floats:
        """Cycles of all experiments under one mapping and the mapping's own R_max: float64[n_experiments]."""
        population = Population.from_mappings([mapping], self.table.schemes)
        row = np.empty(len(self.table))
        floor = _floor(self.table, mapping.r_max)
        self._for_each(population, 1, lambda engine, _: engine.cycles(self.everything, floor, row))
        return row

    def engine(self) -> Engine:
        """A fresh place to load mappings into; one per thread."""
        if self.n_ports <= MAX_TABLE_PORTS:
            return TableEngine(self.table, self.n_ports, self.kernels)
        return UnionEngine(self.table, self.kernels)

    def checked(self, measured: Floats) -> Floats:
        """Measured cycles as a float64 array, one per experiment, all > 0; otherwise `InvalidInputError`."""
        values = np.ascontiguousarray(measured, dtype=np.float64)
        if values.shape != (len(self.table),):
            raise InvalidInputError(
                f"{len(self.table)} experiments need as many measurements, not {values.shape}"
            )
        if not len(values):
            raise InvalidInputError("a mean error needs at least one experiment")
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if len(bad):
            raise InvalidInputError(
                f"measured cycles must be finite and > 0, but experiment {bad[0]} has {values[bad[0]]}"
            )
        return values

    def heaviest(self, population: Population) -> Int64s:
        """Per mapping, no experiment executes more µops than this: int64[n_mappings]."""
        before = np.concatenate(([0], np.cumsum(population.counts, dtype=np.int64)))
        uops = np.diff(before[population.offsets]).reshape(population.n_mappings, population.n_schemes)
        longest = int(self.table.lengths.max(initial=0))
        return np.asarray(uops.max(axis=1, initial=0) * longest)

    def _for_each(
        self, population: Population, threads: int, evaluate: Callable[[Engine, int], None]
    ) -> None:
        self._check(population, threads)
        heaviest = self.heaviest(population).tolist()

        def work(indices: range) -> None:
            engine = self.engine()
            for index in indices:
                at = index * population.n_schemes
                rows = population.offsets[at : at + population.n_schemes + 1]
                span = slice(int(rows[0]), int(rows[-1]))
                engine.load(rows - rows[0], population.masks[span], population.counts[span], heaviest[index])
                evaluate(engine, index)

        threads = min(threads, max(1, population.n_mappings))
        parts = [range(start, population.n_mappings, threads) for start in range(threads)]
        if threads == 1:
            work(parts[0])
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(work, parts):
                pass

    def _check(self, population: Population, threads: int) -> None:
        if population.n_ports != self.n_ports or population.n_schemes != self.table.n_schemes:
            raise InvalidInputError(
                f"this evaluator is for {self.table.n_schemes} schemes and {self.n_ports} ports, "
                f"the population has {population.n_schemes} schemes and {population.n_ports} ports"
            )
        if threads < 1:
            raise InvalidInputError(f"at least one thread must work, not {threads}")


class LocalSearch:
    """One mapping whose schemes are changed one at a time; only the experiments they occur in are evaluated.

    Errors are those of `Evaluator.mean_relative_error`, bit for bit.
    """

    def __init__(
        self, evaluator: Evaluator, population: Population, measured: Floats, index: int = 0
    ) -> None:
        self._evaluator = evaluator
        self._measured = evaluator.checked(measured)
        self._engine = evaluator.engine()
        self._longest = int(evaluator.table.lengths.max(initial=0))
        self._rows = [population.row(index, scheme) for scheme in range(population.n_schemes)]
        self._cycles = np.empty(len(evaluator.table))
        self._heaviest = -1
        self._make_room(max((_uop_count(row) for row in self._rows), default=0))
        self._evaluate(evaluator.everything)

    @property
    def error(self) -> float:
        """Mean relative error of the mapping as it stands."""
        return float(self._evaluator.kernels.mean_relative_error(self._cycles, self._measured))

    @property
    def cycles(self) -> Floats:
        """Cycles of all experiments under the mapping as it stands (a copy)."""
        return self._cycles.copy()

    def row(self, scheme: int) -> Uops:
        """The µops of a scheme as they stand."""
        return self._rows[scheme]

    def population(self) -> Population:
        """The mapping as it stands, as a population of one."""
        return Population.from_rows(self._rows, 1, self._evaluator.n_ports)

    def error_with(self, scheme: int, uops: Uops) -> float:
        """The error that the mapping would have if `scheme` had these µops; changes nothing."""
        which = self._evaluator.table.containing(scheme)
        before, row = self._cycles[which], self._rows[scheme]
        error = self.replace(scheme, uops)
        self._rows[scheme] = row
        if len(which):
            self._engine.replace(scheme, row)
        self._cycles[which] = before
        return error

    def replace(self, scheme: int, uops: Uops) -> float:
        """Give `scheme` these µops (sorted by port set, without repeats) for good; returns the new error."""
        self._rows[scheme] = uops
        which = self._evaluator.table.containing(scheme)
        if len(which):
            self._make_room(_uop_count(uops))
            self._engine.replace(scheme, uops)
            self._evaluate(which)
        return self.error

    def _make_room(self, uops: int) -> None:
        heaviest = uops * self._longest
        if heaviest > self._heaviest:
            self._heaviest = heaviest
            rows = self.population()
            self._engine.load(rows.offsets, rows.masks, rows.counts, heaviest)

    def _evaluate(self, which: Int64s) -> None:
        self._engine.cycles(which, self._evaluator.floor, self._cycles)


def _uop_count(uops: Uops) -> int:
    return sum(count for _, count in uops)


def _floor(table: ExperimentTable, r_max: float | None) -> Floats:
    if r_max is None:
        return np.zeros(len(table))
    if not (math.isfinite(r_max) and r_max > 0):
        raise InvalidInputError(f"R_max must be a finite number > 0, not {r_max!r}")
    return np.asarray(table.lengths / r_max, dtype=np.float64)


def _kernels(compiled: bool | None) -> ModuleType:
    if compiled is False:
        return evaluator_numpy
    try:
        from inference.core import evaluator_kernels
    except ImportError:
        if compiled:
            raise
        return evaluator_numpy
    return evaluator_kernels
