"""Many experiments under many mappings: the hot path of PMEvo, and of every evaluation page.

Cycles are the same, bit for bit, with compiled kernels and without, for any number of threads, and equal to
`throughput.inverse_throughput`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from inference.core import evaluator_numpy
from inference.core.arrays import Floats, Int64s
from inference.core.errors import InvalidInputError
from inference.core.loss import ERROR_UNIT, RELATIVE, Loss
from inference.core.mapping import R_MAX_RANGE, PortMapping, check_ports
from inference.core.tables import ExperimentTable, Population
from inference.core.throughput import EXACT_LIMIT
from inference.core.tunables import check_number, check_whole

MOST_THREADS = 1024


class Evaluator:
    """Evaluates the experiments of one table under mappings with `n_ports` ports.

    `r_max`: instructions per cycle that the bottleneck outside the ports lets through, None for no such
    bound; it is the same for all mappings (`cycles_one` takes the mapping's own limits and slots).
    `least`: cycles float64[n_experiments] that each experiment takes at least whatever the mapping, such as
    those of its code in the front end; None for no such bound.
    `compiled`: numba kernels; else cycles come from numpy, which is done with a single mapping before numba
    is loaded.
    """

    def __init__(
        self,
        table: ExperimentTable,
        n_ports: int,
        r_max: float | None = None,
        *,
        least: Floats | None = None,
        compiled: bool = True,
    ) -> None:
        check_ports(n_ports)
        if np.any(np.diff(table.offsets) < 1):
            raise InvalidInputError("every experiment of a table needs at least one scheme")
        self.table = table
        self.n_ports = n_ports
        self.r_max = r_max
        self.floor = _floor(table, r_max)
        if least is not None:
            np.maximum(self.floor, least, out=self.floor)
        self.compiled = compiled

    def cycles(self, population: Population, threads: int = 1) -> Floats:
        """Inverse throughput in cycles: float64[n_mappings, n_experiments]."""
        check_whole("threads", threads, 1, MOST_THREADS)
        return self._cycles(population, self.floor, threads)

    def cycles_one(self, mapping: PortMapping) -> Floats:
        """Cycles of all experiments under one mapping and its own limits: float64[n_experiments]."""
        population = Population.from_mappings([mapping], self.table.schemes)
        floor = _floor(self.table, mapping.r_max)
        if mapping.issue_width is not None:
            slots = np.array([mapping.slots_of(scheme) for scheme in self.table.schemes], dtype=np.int64)
            np.maximum(floor, slots_per_experiment(self.table, slots) / mapping.issue_width, out=floor)
        row: Floats = self._cycles(population, floor, threads=1)[0]
        return row

    def mean_relative_error(
        self,
        population: Population,
        measured: Floats,
        threads: int = 1,
        pulse: Callable[[], None] | None = None,
    ) -> Floats:
        """D_avg of thesis §5.1.3: mean of |tp⁻¹ − measured| / measured, as a fraction: float64[n_mappings].

        `measured`, `threads`, `pulse` and the rounding are those of `mean_loss`.
        """
        return self.mean_loss(population, measured, RELATIVE, threads, pulse)

    def mean_loss(
        self,
        population: Population,
        measured: Floats,
        loss: Loss,
        threads: int = 1,
        pulse: Callable[[], None] | None = None,
    ) -> Floats:
        """The mean of what all predictions count: float64[n_mappings].

        `measured`: cycles > 0 per experiment, in the order of the table. Each loss is rounded to a multiple
        of 2⁻³² and counts at most `largest_error`; sums of whole numbers are exact in any order, so neither
        threads nor what mappings have in common change a bit. `pulse` is called every few ten milliseconds;
        what it raises ends the work.
        """
        check_whole("threads", threads, 1, MOST_THREADS)
        self.check(population)
        from inference.core.populations import summed_losses  # loads numba

        return self.mean_of(summed_losses(self, population, self.checked(measured), loss, threads, pulse))

    def mean_of(self, total: npt.ArrayLike) -> Floats:
        """A sum, or sums, of losses in units as a mean over all experiments."""
        return np.asarray(total, dtype=np.float64) * ERROR_UNIT / len(self.table)

    @property
    def largest_error(self) -> float:
        """What a single prediction counts at most, lest a sum leave 64 bits."""
        return 2.0**30 / max(1, len(self.table))

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

    def check(self, population: Population) -> None:
        """`InvalidInputError` for a population with other schemes or ports than this evaluator's.

        And where an experiment might execute 2⁵³ µops or more under some mapping.
        """
        if population.n_ports != self.n_ports or population.n_schemes != self.table.n_schemes:
            raise InvalidInputError(
                f"this evaluator is for {self.table.n_schemes} schemes and {self.n_ports} ports, "
                f"the population has {population.n_schemes} schemes and {population.n_ports} ports"
            )
        heaviest = population.most_uops() * int(self.table.lengths.max(initial=0))
        if heaviest >= EXACT_LIMIT:
            raise InvalidInputError(f"an experiment may execute fewer than 2^53 µops, here up to {heaviest}")

    def _cycles(self, population: Population, floor: Floats, threads: int) -> Floats:
        self.check(population)
        if not self.compiled:
            return evaluator_numpy.cycles(self.table, population, floor)
        from inference.core.populations import all_cycles  # loads numba

        return all_cycles(self, population, floor, threads)


def _floor(table: ExperimentTable, r_max: float | None) -> Floats:
    if r_max is None:
        return np.zeros(len(table))
    check_number("R_max", r_max, *R_MAX_RANGE)
    return np.asarray(table.lengths / r_max, dtype=np.float64)


def slots_per_experiment(table: ExperimentTable, slots: Int64s) -> Int64s:
    """How many issue slots each experiment takes: int64[n_experiments]; `slots` int64[n_schemes]."""
    taken = np.concatenate(([0], np.cumsum(slots[table.scheme] * table.count.astype(np.int64))))
    return np.asarray(np.diff(taken[table.offsets]), dtype=np.int64)
