"""The evaluator's inner loops in plain numpy: what they mean, and what runs where numba cannot.

`evaluator_kernels.py` has the same functions compiled; both give the same numbers bit for bit. Common
arguments: `offsets` int64[n + 1], `row_of` / `scheme` and `repeats` are the experiments as compressed rows;
`floor` float64[n] is a lower bound of each answer (R_max); `which` int64[…] selects the experiments whose
`cycles` float64[n] are to be written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.throughput import port_bound

Integers = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_CHUNK_BYTES = 1 << 24


def fill_tables(
    tables: Integers,
    subsets: Integers,
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    occurring: Integers,
) -> None:
    """Into `tables[r, j]` the number of µops of scheme `occurring[r]` bound to the port set `subsets[j]`.

    `offsets`, `masks`, `counts`: the µops of one mapping, one compressed row per scheme.
    """
    tables[:] = 0
    for row, scheme in zip(tables, occurring.tolist(), strict=True):
        for u in range(int(offsets[scheme]), int(offsets[scheme + 1])):
            row[(masks[u] & ~subsets) == 0] += tables.dtype.type(counts[u])


def cycles_by_tables(
    tables: Integers,
    class_ends: Integers,
    offsets: Integers,
    row_of: Integers,
    repeats: Integers,
    floor: Floats,
    which: Integers,
    cycles: Floats,
) -> None:
    """Closed form over ports: tables add over the mix, then the maximum over all sets of one size, by size.

    The columns of `tables` are sorted by the size of their port set: those of size k + 1 end at
    `class_ends[k]`; the last column is the set of all ports. The integers must be wide enough for any total.
    """
    starts = np.concatenate(([0], class_ends[:-1]))
    sizes = np.arange(1, len(class_ends) + 1)
    factors = repeats.astype(tables.dtype)
    for chunk in _chunks(which, offsets, row_bytes=tables.itemsize * tables.shape[1]):
        terms, begins = _terms_of(chunk, offsets)
        mass = tables[row_of[terms]] * factors[terms, None]
        total = np.add.reduceat(mass, begins, axis=0, dtype=tables.dtype)
        largest = np.maximum.reduceat(total, starts, axis=1)
        cycles[chunk] = np.maximum((largest / sizes).max(axis=1), floor[chunk])


def cycles_by_unions(
    masks: Integers,
    counts: Integers,
    offsets: Integers,
    scheme: Integers,
    repeats: Integers,
    floor: Floats,
    which: Integers,
    cycles: Floats,
) -> None:
    """Closed form over µops, for any number of ports.

    `masks`, `counts` [scheme, k]: the µops of one mapping, padded with counts of 0.
    """
    for e in which.tolist():
        work: dict[int, int] = {}
        for t in range(int(offsets[e]), int(offsets[e + 1])):
            row = scheme[t]
            for mask, count in zip(masks[row].tolist(), counts[row].tolist(), strict=True):
                if count:
                    work[mask] = work.get(mask, 0) + count * int(repeats[t])
        cycles[e] = max(port_bound(work), floor[e])


def mean_relative_error(cycles: Floats, measured: Floats) -> float:
    """Mean of |cycles − measured| / measured over at least one experiment.

    Summed in four interleaved runs, each from the front: a fixed order, and one that compiled code can keep
    busy with.
    """
    error = np.abs(cycles - measured) / measured
    n = len(error)
    whole = n - n % 4
    total = 0.0
    if whole:
        total = _in_order(np.cumsum(error[:whole].reshape(-1, 4), axis=0)[-1])
    for value in error[whole:].tolist():
        total += value
    return total / n


def _in_order(values: Floats) -> float:
    total = 0.0
    for value in values.tolist():
        total += value
    return total


def _chunks(which: Integers, offsets: Integers, row_bytes: int) -> list[Integers]:
    """`which` in pieces whose terms, one row of `row_bytes` each, fit into a few megabytes."""
    terms = np.cumsum(offsets[which + 1] - offsets[which])
    per_chunk = max(1, _CHUNK_BYTES // row_bytes)
    return [piece for piece in np.split(which, np.flatnonzero(np.diff(terms // per_chunk)) + 1) if len(piece)]


def _terms_of(which: Integers, offsets: Integers) -> tuple[Integers, Integers]:
    """Positions of all terms of the experiments `which`, and where each experiment begins among them."""
    lengths = offsets[which + 1] - offsets[which]
    begins = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(offsets[which] - begins, lengths), begins
