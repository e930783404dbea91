"""Tables of the µops bound to each set of ports: being bound is linear, so they add up over a mix.

These loops are what the evaluation of longer mixes consists of. They become vector instructions because every
number in them is as narrow as the sum: repeats are handed over as such, every step is cast back, and slices
begin at 0. Sums of so few µops that they fit the narrow tables themselves are twice as fast.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place, inlined
from inference.core.kernels.layout import MOST_IN_ROW, Desk, Integers, Number, Rows


@inlined
def see_to_table(desk: Desk, rows: Rows, base: Number, place: Number) -> None:
    """Fill the table of a place, unless that was done since it got its row."""
    if not desk.filled[place]:
        desk.filled[place] = 1
        first, last = rows.starts[base + place], rows.ends[base + place]
        masks, counts = rows.masks[first:last], rows.counts[first:last]
        _fill_table(desk.tables[place], desk.total, desk.columns, masks, counts)


@inlined
def two_tables(desk: Desk, a: Number, times_a: Number, b: Number, times_b: Number) -> Number:
    """Cycles of two schemes whose tables are filled."""
    table_a, table_b = desk.tables[a], desk.tables[b]
    if times_a == 1 and times_b == 1 and desk.mass[a] + desk.mass[b] <= MOST_IN_ROW:
        return _densest_of_two(desk.narrow, desk.ends, table_a, table_b)
    integer = desk.total.dtype.type
    return _densest_of_repeated(desk.total, desk.ends, table_a, integer(times_a), table_b, integer(times_b))


@inlined
def added_tables(desk: Desk, places: Integers, at: Number, n_terms: Number) -> Number:
    """Cycles of three or more schemes, once each, whose tables are filled; at most `MOST_IN_ROW` µops."""
    total, tables = desk.narrow, desk.tables
    _start(
        total,
        tables[np.uint64(places[at])],
        tables[np.uint64(places[at + 1])],
        tables[np.uint64(places[at + 2])],
    )
    t = 3
    while t + 2 < n_terms:
        _add(total, tables[np.uint64(places[at + t])], tables[np.uint64(places[at + t + 1])])
        t += 2
    # The sums with the last one or two need not be stored.
    last = desk.nothing if t + 1 >= n_terms else tables[np.uint64(places[at + t + 1])]
    if t < n_terms:
        return _finish(total, desk.ends, tables[np.uint64(places[at + t])], last)
    return _densest_of_two(total, desk.ends, total, last)


@inlined
def repeated_tables(
    desk: Desk, places: Integers, at: Number, repeats: Integers, first: Number, n_terms: Number
) -> Number:
    """Cycles of three or more schemes whose tables are filled; at most `MOST_IN_SUM` µops."""
    total, tables = desk.total, desk.tables
    integer = total.dtype.type
    total[:] = 0
    for t in range(n_terms):
        _add_repeated(total, tables[places[at + t]], integer(repeats[first + t]))
    return _densest_of_repeated(total, desk.ends, total, integer(1), desk.nothing, integer(0))


@compiled_in_place
def _fill_table(
    table: Integers, total: Integers, columns: Integers, masks: Integers, counts: Integers
) -> None:
    """Count the µops of a row that are bound to each set of ports; `total` is scratch."""
    integer, narrow = total.dtype.type, table.dtype.type
    total[:] = 0
    for u in range(len(masks)):
        _add_where_inside(total, columns, integer(masks[u]), integer(counts[u]))
    for j in range(len(table)):
        table[j] = narrow(total[j])


@compiled_in_place
def _add_where_inside(total: Integers, columns: Integers, needed: Number, count: Number) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        more = count if integer(columns[j] & needed) == needed else integer(0)
        total[j] = integer(total[j] + more)


@compiled_in_place
def _start(total: Integers, a: Integers, b: Integers, c: Integers) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(integer(a[j] + b[j]) + c[j])


@compiled_in_place
def _add(total: Integers, a: Integers, b: Integers) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(total[j] + integer(a[j] + b[j]))


@compiled_in_place
def _add_repeated(total: Integers, a: Integers, times: Number) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(total[j] + integer(integer(a[j]) * times))


@compiled_in_place
def _densest_of_two(total: Integers, ends: Integers, a: Integers, b: Integers) -> Number:
    integer = total.dtype.type
    best = 0.0
    start = 0
    for k in range(len(ends)):
        x, y = a[start : ends[k]], b[start : ends[k]]
        largest = integer(0)
        for j in range(len(x)):
            largest = max(largest, integer(x[j] + y[j]))
        best = max(best, np.float64(largest) / np.float64(k + 1))
        start = ends[k]
    return best


@compiled_in_place
def _finish(total: Integers, ends: Integers, a: Integers, b: Integers) -> Number:
    integer = total.dtype.type
    best = 0.0
    start = 0
    for k in range(len(ends)):
        x, y, z = a[start : ends[k]], b[start : ends[k]], total[start : ends[k]]
        largest = integer(0)
        for j in range(len(x)):
            largest = max(largest, integer(integer(x[j] + y[j]) + z[j]))
        best = max(best, np.float64(largest) / np.float64(k + 1))
        start = ends[k]
    return best


@compiled_in_place
def _densest_of_repeated(
    total: Integers, ends: Integers, a: Integers, times_a: Number, b: Integers, times_b: Number
) -> Number:
    integer = total.dtype.type
    best = 0.0
    start = 0
    for k in range(len(ends)):
        x, y = a[start : ends[k]], b[start : ends[k]]
        largest = integer(0)
        for j in range(len(x)):
            more = integer(integer(x[j]) * times_a)
            largest = max(largest, integer(more + integer(integer(y[j]) * times_b)))
        best = max(best, np.float64(largest) / np.float64(k + 1))
        start = ends[k]
    return best
