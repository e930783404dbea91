"""What is listed once per row of µops, and then used by all experiments with that scheme."""

from __future__ import annotations

import numpy as np

from inference.core.arrays import Integers
from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import densest_union, gather_row, size_of
from inference.core.kernels.layout import LISTED, EvaluationArrays, Number, Rows

_FEW_KINDS = 6
"""More kinds of µops than this rarely have as few unions as are listed; then it is not tried."""


@compiled_in_place
def prepare(arrays: EvaluationArrays, rows: Rows, base: Number, places: Integers) -> None:
    """Bring the listed places of the arrays in line with their rows."""
    for place in places:
        prepare_one(arrays, rows, base, np.int64(place))


@compiled_in_place
def prepare_one(arrays: EvaluationArrays, rows: Rows, base: Number, place: Number) -> None:
    """The unions of the port sets in row `base + place`, each with the most µops that it holds.

    A union that arises in several ways is listed once, with the way that has the most µops: all those inside.
    """
    arrays.filled[place] = 0
    if arrays.scaled[0] == place:
        arrays.scaled[0] = -1
    arrays.mass[place] = rows.counts[rows.starts[base + place] : rows.ends[base + place]].sum()
    arrays.n_kinds[place] = rows.ends[base + place] - rows.starts[base + place]
    unions = arrays.unions[place * LISTED : (place + 1) * LISTED]
    masses = arrays.masses[place * LISTED : (place + 1) * LISTED]
    first, last = rows.starts[base + place], rows.ends[base + place]
    count = 0 if last - first <= _FEW_KINDS else -1
    for u in range(first, last):
        if count >= 0:
            kind, amount = np.uint64(rows.masks[u]), np.float64(rows.counts[u])
            count = _grow(unions, masses, count, kind, amount)
    arrays.listed[place] = count
    best, width = np.int64(0), np.int64(1)
    if count < 0:
        n = gather_row(arrays, rows, base + place, np.int64(1), np.int64(0))
        best, width = densest_union(
            arrays.kinds, arrays.amounts, n, arrays.held, arrays.held_mass, arrays.placed, arrays.ports
        )
    for k in range(count):
        mass, size = np.int64(masses[k]), size_of(unions[k])
        if mass * width > best * size:
            best, width = mass, size
    arrays.alone_mass[place], arrays.alone_width[place] = best, width


@compiled_in_place
def _grow(unions: Integers, masses: Integers, count: Number, kind: Number, amount: Number) -> Number:
    """Add one kind of µop to a list of unions; returns how many there are then, -1 for too many."""
    alone = True
    end = count
    for i in range(count):
        grown = unions[i] | kind
        if grown == unions[i]:
            masses[i] += amount
            alone = alone and grown != kind
            continue
        alone = alone and grown != kind
        place = 0
        while place < end and unions[place] != grown:
            place += 1
        if place < count:
            continue  # listed before, with at least as many µops
        if place < end:
            masses[place] = max(masses[place], masses[i] + amount)
            continue
        if end == len(unions):
            return -1
        unions[end], masses[end] = grown, masses[i] + amount
        end += 1
    if alone:
        if end == len(unions):
            return -1
        unions[end], masses[end] = kind, amount
        end += 1
    return end
