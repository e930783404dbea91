"""The evaluator in plain numpy: done with a single mapping before the compiled kernels are loaded.

`kernels` computes the same numbers, bit for bit.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from inference.core.arrays import Floats, Int64s
from inference.core.tables import ExperimentTable, Population
from inference.core.throughput import port_bound

MAX_TABLE_PORTS = 13
"""Up to here a table over all port sets per scheme is small: 2^13 numbers."""

_CHUNK_BYTES = 1 << 24


def cycles(table: ExperimentTable, population: Population, floor: Floats) -> Floats:
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
    """How much memory the tables of all schemes that occur take."""
    return 8 * len(table.occurring) << n_ports if n_ports <= MAX_TABLE_PORTS else 0


def _by_tables(table: ExperimentTable, population: Population, rows: Int64s) -> Floats:
    """Closed form over ports: tables add over the mix, then the maximum over all sets of one size."""
    subsets = np.arange(1, 1 << population.n_ports, dtype=np.int64)
    sizes = np.bitwise_count(subsets)
    order = np.argsort(sizes, kind="stable")
    subsets, sizes = subsets[order], sizes[order]
    number = _smallest_for(table, population)
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


def _smallest_for(table: ExperimentTable, population: Population) -> type[np.signedinteger]:
    """An integer that holds the µops of any experiment: half as wide is twice as quick."""
    if not len(population.counts):
        return np.int32
    most = int(table.lengths.max()) * int(population.counts.sum())
    return np.int32 if most <= np.iinfo(np.int32).max else np.int64


def _by_unions(table: ExperimentTable, population: Population, rows: Int64s) -> Floats:
    """Closed form over µops, for any number of ports."""
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
