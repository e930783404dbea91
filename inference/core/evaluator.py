"""Evaluates many experiments under many mappings: the hot path of PMEvo, and of every evaluation page.

Cycles are the same, bit for bit, with compiled kernels (`populations`) and with plain numpy, which handles a
single mapping before the kernels are loaded; for any number of threads; and equal to
`throughput.inverse_throughput`. A `ThroughputModel` is anything that predicts experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.mapping import R_MAX_RANGE, PortMapping, check_ports
from inference.core.metrics import ERROR_UNIT, RELATIVE_LOSS, Loss
from inference.core.tables import Bools, ExperimentTable, Floats, Int64s, Population
from inference.core.throughput import EXACT_LIMIT, port_bound
from inference.core.tunables import check_integer, check_number

MAX_THREADS = 1024  # more than computers have processors: only a mistake asks for more

MAX_TABLE_PORTS = 13
"""Up to here a table over all port sets per scheme is small: 2^13 numbers."""

_CHUNK_BYTES = 1 << 24  # of numpy arrays that are worked on at once

_MIN_COMPILED = 4096
"""Number of experiments from which on loading the compiled kernels costs less than plain numpy takes."""

_MAX_NUMPY_BYTES = 1 << 26
"""Largest memory for numpy's tables, one per scheme: with thousands of schemes on many ports they get too
large.
"""


class Evaluator:
    """Evaluates the experiments of one table under mappings with `n_ports` ports.

    Args:
        table: Experiments, each with at least one scheme.
        n_ports: Number of ports of all mappings.
        r_max: Instructions per cycle that the bottleneck outside the ports lets through, the same for all
            mappings; None for no such bound. `mapping_cycles` takes the mapping's own limits and slots.
        least: float64[n_experiments], cycles that each experiment takes at least under any mapping, such as
            those of its code in the front end; None for no such bound.
        compiled: Use the numba kernels; otherwise cycles come from numpy, which is done with a single mapping
            before numba is loaded.

    Raises:
        InvalidInputError: For an experiment without schemes, or a number of ports or an R_max out of range.
    """

    def __init__(
        self,
        table: ExperimentTable,
        n_ports: int,
        r_max: float | None = None,
        *,
        lower_bounds: Floats | None = None,
        compiled: bool = True,
    ) -> None:
        check_ports(n_ports)
        if np.any(np.diff(table.offsets) < 1):
            raise InvalidInputError("every experiment of a table needs at least one scheme")
        self.table = table
        self.n_ports = n_ports
        self.r_max = r_max
        self.floor = _floor(table, r_max)
        if lower_bounds is not None:
            np.maximum(self.floor, lower_bounds, out=self.floor)
        self.compiled = compiled

    def cycles(self, population: Population, threads: int = 1) -> Floats:
        """Inverse throughput in cycles: float64[n_mappings, n_experiments]."""
        check_integer("threads", threads, 1, MAX_THREADS)
        return self._cycles(population, self.floor, threads)

    def mapping_cycles(self, mapping: PortMapping) -> Floats:
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
        return self.mean_loss(population, measured, RELATIVE_LOSS, threads, pulse)

    def mean_loss(
        self,
        population: Population,
        measured: Floats,
        loss: Loss,
        threads: int = 1,
        pulse: Callable[[], None] | None = None,
    ) -> Floats:
        """The mean loss of all predictions: float64[n_mappings].

        Each loss is rounded to a multiple of 2⁻³² and capped at `largest_error`. Sums of whole numbers are
        exact in any order, so neither threads nor rows that mappings share change a bit of the result.

        Args:
            population: Mappings over the schemes of the table.
            measured: Cycles > 0 per experiment, in the order of the table.
            loss: See `Loss`.
            threads: 1 to `MAX_THREADS`.
            pulse: Called about every ten milliseconds; what it raises ends the work.

        Raises:
            InvalidInputError: For other schemes or ports than the evaluator's, or unusable measurements.
        """
        check_integer("threads", threads, 1, MAX_THREADS)
        self.check(population)
        from inference.core.populations import summed_losses  # loads numba

        return self.mean_of(summed_losses(self, population, self.checked(measured), loss, threads, pulse))

    def mean_of(self, total: npt.ArrayLike) -> Floats:
        """The mean over all experiments of a sum of losses, or of several, in multiples of `ERROR_UNIT`."""
        return np.asarray(total, dtype=np.float64) * ERROR_UNIT / len(self.table)

    @property
    def largest_error(self) -> float:
        """The cap of a single loss: without it a sum could leave 64 bits."""
        return 2.0**30 / max(1, len(self.table))

    def checked(self, measured: Floats) -> Floats:
        """The measured cycles as float64, one per experiment, all finite and > 0.

        Raises:
            InvalidInputError: They are not.
        """
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
        """Raise `InvalidInputError` for a population with other schemes or ports than this evaluator's.

        Also where an experiment could execute 2⁵³ µops or more under some mapping: sums would not be exact.
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
            return cycles_by_numpy(self.table, population, floor)
        from inference.core.populations import all_cycles  # loads numba

        return all_cycles(self, population, floor, threads)


def _floor(table: ExperimentTable, r_max: float | None) -> Floats:
    if r_max is None:
        return np.zeros(len(table))
    check_number("R_max", r_max, *R_MAX_RANGE)
    return np.asarray(table.lengths / r_max, dtype=np.float64)


def slots_per_experiment(table: ExperimentTable, slots: Int64s) -> Int64s:
    """Issue slots of each experiment, int64[n_experiments], from those of each scheme, int64[n_schemes]."""
    cumulative = np.concatenate(([0], np.cumsum(slots[table.scheme] * table.count.astype(np.int64))))
    return np.asarray(np.diff(cumulative[table.offsets]), dtype=np.int64)


def cycles_by_numpy(table: ExperimentTable, population: Population, floor: Floats) -> Floats:
    """Inverse throughput in cycles, at least `floor` float64[n]: float64[n_mappings, n_experiments]."""
    out = np.empty((population.n_mappings, len(table)))
    for index in range(population.n_mappings):
        rows = population.offsets[index * population.n_schemes :][: population.n_schemes + 1]
        if not len(table):
            continue
        if population.n_ports <= MAX_TABLE_PORTS:
            out[index] = _by_tables(table, population, rows)
        else:
            out[index] = _by_unions(table, population, rows)
    return np.maximum(out, floor)


def table_bytes(table: ExperimentTable, n_ports: int) -> int:
    """Bytes of the tables that `cycles_by_numpy` needs, one per occurring scheme; 0 where it needs none."""
    return 8 * len(table.occurring) << n_ports if n_ports <= MAX_TABLE_PORTS else 0


def _by_tables(table: ExperimentTable, population: Population, rows: Int64s) -> Floats:
    """The closed form over ports: tables of schemes are added, then maximised per size of port set."""
    subsets = np.arange(1, 1 << population.n_ports, dtype=np.int64)
    sizes = np.bitwise_count(subsets)
    order = np.argsort(sizes, kind="stable")
    subsets, sizes = subsets[order], sizes[order]
    number = _mass_type(table, population)
    inside: dict[int, npt.NDArray[np.signedinteger]] = {}  # of few masks there are many µops
    bound = np.zeros((len(table.occurring), len(subsets)), dtype=number)
    for at, scheme in enumerate(table.occurring.tolist()):
        for u in range(int(rows[scheme]), int(rows[scheme + 1])):
            mask = int(population.masks[u])
            if mask not in inside:
                inside[mask] = ((mask & ~subsets) == 0).astype(number)
            bound[at] += inside[mask] * number(population.counts[u])
    place = np.searchsorted(table.occurring, table.scheme)
    starts = np.searchsorted(sizes, np.arange(1, population.n_ports + 1))
    widths = np.arange(1, population.n_ports + 1)
    out = np.empty(len(table))
    for first, last in _chunks(table, bound.itemsize * bound.shape[1]):
        terms = slice(int(table.offsets[first]), int(table.offsets[last]))
        mass = bound[place[terms]] * table.count[terms, None].astype(number)
        total = np.add.reduceat(mass, table.offsets[first:last] - terms.start, axis=0)
        out[first:last] = (np.maximum.reduceat(total, starts, axis=1) / widths).max(axis=1)
    return out


def _mass_type(table: ExperimentTable, population: Population) -> type[np.signedinteger]:
    """The integer type that holds the µops of any experiment: 32 bits are twice as quick as 64."""
    if not len(population.counts):
        return np.int32
    largest = int(table.lengths.max()) * int(population.counts.sum())
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def _by_unions(table: ExperimentTable, population: Population, rows: Int64s) -> Floats:
    """Closed form over the unions of µops' port sets, for any number of ports."""
    out = np.empty(len(table))
    for e in range(len(table)):
        work: dict[int, int] = {}
        for t in range(int(table.offsets[e]), int(table.offsets[e + 1])):
            span = slice(int(rows[table.scheme[t]]), int(rows[table.scheme[t] + 1]))
            for mask, count in zip(
                population.masks[span].tolist(), population.counts[span].tolist(), strict=True
            ):
                work[mask] = work.get(mask, 0) + count * int(table.count[t])
        out[e] = port_bound(work)
    return out


def _chunks(table: ExperimentTable, row_bytes: int) -> list[tuple[int, int]]:
    """Ranges of experiments whose terms, one row of `row_bytes` each, fit into a few megabytes."""
    per_chunk = max(1, _CHUNK_BYTES // row_bytes)
    ends = np.flatnonzero(np.diff(table.offsets[1:] // per_chunk)) + 1
    bounds = [0, *ends.tolist(), len(table)]
    return [(first, last) for first, last in pairwise(bounds) if last > first]


class ThroughputModel(Protocol):
    """Predicts inverse throughputs of experiments without measuring.

    Port mappings, resource mappings and external tools do.
    """

    @property
    def described(self) -> Collection[str]:
        """The schemes that the model describes: it predicts the experiments that consist of these alone."""
        ...

    def cycles(self, table: ExperimentTable) -> Floats:
        """Cycles per execution of each experiment, the model's own bottlenecks included: float64[len(table)].

        Raises:
            UnknownSchemeError: Where the numbering of the table has a scheme that is not described.
        """
        ...


@dataclass(frozen=True)
class PortMappingModel:
    """A port mapping as a throughput model, with its limits outside the ports.

    Few experiments are evaluated by plain numpy, which is done before the compiled kernels would be loaded;
    the results are equal bit for bit.
    """

    mapping: PortMapping

    @property
    def described(self) -> Collection[str]:
        return self.mapping.usage.keys()

    def cycles(self, table: ExperimentTable) -> Floats:
        if not len(table):
            return np.zeros(0)
        n_ports = len(self.mapping.ports)
        few = len(table) < _MIN_COMPILED and table_bytes(table, n_ports) <= _MAX_NUMPY_BYTES
        return Evaluator(table, n_ports, compiled=not few).mapping_cycles(self.mapping)


def described_experiments(described: Collection[str], table: ExperimentTable) -> Bools:
    """Which experiments consist of described schemes alone: bool[len(table)]."""
    is_described = _is_described(described, table)
    if not len(table):
        return np.zeros(0, dtype=bool)
    return np.logical_and.reduceat(is_described[table.scheme], table.offsets[:-1])


def predicted_cycles(model: ThroughputModel, table: ExperimentTable) -> Floats:
    """Cycles of each experiment under a model: float64[len(table)], NaN where it lacks a scheme."""
    is_described = described_experiments(model.described, table)
    rows = np.flatnonzero(is_described)
    has_all = _is_described(model.described, table)
    if not has_all.all():
        entries = np.repeat(is_described, np.diff(table.offsets))
        ends = np.cumsum(np.diff(table.offsets)[rows])
        number = np.cumsum(has_all) - 1
        table = ExperimentTable(
            schemes=tuple(
                scheme for scheme, is_known in zip(table.schemes, has_all, strict=True) if is_known
            ),
            offsets=np.concatenate(([0], ends)).astype(np.int64),
            scheme=number[table.scheme[entries]].astype(np.int32),
            count=table.count[entries],
            lengths=table.lengths[rows],
        )
    cycles = np.full(len(is_described), np.nan)
    cycles[rows] = model.cycles(table)
    return cycles


def _is_described(described: Collection[str], table: ExperimentTable) -> Bools:
    return np.array([scheme in described for scheme in table.schemes], dtype=bool)
