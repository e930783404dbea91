"""One mapping made ready for evaluation: two layouts, chosen by the number of ports."""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

import numpy as np

from inference.core.errors import InvalidInputError
from inference.core.evaluator_numpy import Floats, Integers, cycles_by_unions
from inference.core.mapping import Uops
from inference.core.tables import ExperimentTable, Int64s
from inference.core.throughput import EXACT_LIMIT

MAX_TABLE_PORTS = 13
"""Up to here a table over all port sets per scheme fits the cache: 2^13 × 2 bytes."""

_LANES = 8


class Engine(Protocol):
    """Evaluates the experiments of a table under the mapping that was loaded last."""

    def load(self, offsets: Int64s, masks: Integers, counts: Integers, heaviest: int) -> None:
        """Take over a mapping: one compressed row of µops per scheme.

        `heaviest`: upper bound of the µops of any experiment.
        """
        ...

    def replace(self, scheme: int, uops: Uops) -> None:
        """Change the µops of one scheme; the load's `heaviest` must still hold."""
        ...

    def cycles(self, which: Int64s, floor: Floats, out: Floats) -> None:
        """Write the cycles of the experiments `which`, at least `floor`, to the same places of `out`."""
        ...


class TableEngine:
    """For few ports: per scheme, the number of its µops bound to each set of ports."""

    def __init__(self, table: ExperimentTable, n_ports: int, kernels: ModuleType) -> None:
        self._table = table
        self._kernels = kernels
        self._subsets, self._class_ends = _subsets_by_size(n_ports)
        self._row_of = np.searchsorted(table.occurring, table.scheme).astype(np.int32)
        self._layout(np.dtype(np.int16))

    def _layout(self, dtype: np.dtype[np.signedinteger]) -> None:
        self._columns = self._subsets.astype(dtype)
        self._tables = np.zeros((len(self._table.occurring), len(self._columns)), dtype=dtype)

    def load(self, offsets: Int64s, masks: Integers, counts: Integers, heaviest: int) -> None:
        """See `Engine`. The narrowest integers that cannot overflow are the fastest."""
        dtype = _narrowest(heaviest)
        if dtype != self._tables.dtype:
            self._layout(dtype)
        self._kernels.fill_tables(self._tables, self._columns, offsets, masks, counts, self._table.occurring)

    def replace(self, scheme: int, uops: Uops) -> None:
        """See `Engine`."""
        row = int(np.searchsorted(self._table.occurring, scheme))
        masks = np.array([mask for mask, _ in uops], dtype=np.int64)
        counts = np.array([count for _, count in uops], dtype=np.int32)
        ends = np.array([0, len(uops)], dtype=np.int64)
        only = np.zeros(1, dtype=np.int32)
        self._kernels.fill_tables(self._tables[row : row + 1], self._columns, ends, masks, counts, only)

    def cycles(self, which: Int64s, floor: Floats, out: Floats) -> None:
        """See `Engine`."""
        table = self._table
        self._kernels.cycles_by_tables(
            self._tables, self._class_ends, table.offsets, self._row_of, table.count, floor, which, out
        )


class UnionEngine:
    """For many ports: the unions of the port sets that occur in an experiment."""

    def __init__(self, table: ExperimentTable, kernels: ModuleType) -> None:
        self._table = table
        self._kernels = kernels
        self._masks = np.zeros((table.n_schemes, 1), dtype=np.int64)
        self._counts = np.zeros((table.n_schemes, 1), dtype=np.int64)

    def load(self, offsets: Int64s, masks: Integers, counts: Integers, heaviest: int) -> None:
        """See `Engine`."""
        _narrowest(heaviest)
        kinds = np.diff(offsets)
        shape = (self._table.n_schemes, max(1, int(kinds.max(initial=0))))
        at = np.arange(shape[1]) < kinds[:, None]
        self._masks = np.zeros(shape, dtype=np.int64)
        self._counts = np.zeros(shape, dtype=np.int64)
        self._masks[at] = masks
        self._counts[at] = counts

    def replace(self, scheme: int, uops: Uops) -> None:
        """See `Engine`."""
        if (missing := len(uops) - self._masks.shape[1]) > 0:
            self._masks = np.pad(self._masks, ((0, 0), (0, missing)))
            self._counts = np.pad(self._counts, ((0, 0), (0, missing)))
        self._masks[scheme] = 0
        self._counts[scheme] = 0
        for k, (mask, count) in enumerate(uops):
            self._masks[scheme, k] = mask
            self._counts[scheme, k] = count

    def cycles(self, which: Int64s, floor: Floats, out: Floats) -> None:
        """See `Engine`. Experiments with more unions than the compiled kernel lists go through the flow."""
        table = self._table
        arguments = (self._masks, self._counts, table.offsets, table.scheme, table.count, floor)
        self._kernels.cycles_by_unions(*arguments, which, out)
        left = which[np.isnan(out[which])]
        if len(left):
            cycles_by_unions(*arguments, left, out)


def _subsets_by_size(n_ports: int) -> tuple[Int64s, Int64s]:
    """All port sets but the empty one, in classes of equal size 1, 2, …, and where each class ends.

    Each class is filled up at its front with empty sets, which no µop is bound to, so that compiled loops
    over it run in whole vectors. The last entry is the set of all ports.
    """
    subsets = np.arange(1, 1 << n_ports, dtype=np.int64)
    sizes = np.bitwise_count(subsets)
    classes = []
    for size in range(1, n_ports + 1):
        members = subsets[sizes == size]
        classes.append(np.pad(members, (-len(members) % _LANES, 0)))
    ends = np.cumsum([len(members) for members in classes], dtype=np.int64)
    return np.concatenate(classes), ends


def _narrowest(heaviest: int) -> np.dtype[np.signedinteger]:
    for kind in (np.int16, np.int32):
        if heaviest <= np.iinfo(kind).max:
            return np.dtype(kind)
    if heaviest >= EXACT_LIMIT:
        raise InvalidInputError(f"an experiment may execute fewer than 2^53 µops, here up to {heaviest}")
    return np.dtype(np.int64)
