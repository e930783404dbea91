"""Tables of the µops bound to each set of ports: being bound is linear, so they add up over a mix.

The sets are laid out in blocks of `LANES` columns, such that a lane, the columns at one place of all blocks,
holds sets of one size. Then the largest sum of every size is found by folding blocks onto each other, and a
weight per lane makes sizes comparable. These loops become vector instructions because every number in them is
as narrow as the sum: repeats are handed over as such, every step is cast back, and slices begin at 0. Sums of
so few µops that they fit the narrow integers of the tables are twice as fast.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place, inlined
from inference.core.kernels.layout import LANES, MOST_IN_ROW, Desk, Integers, Number, Rows


@inlined
def see_to_table(desk: Desk, rows: Rows, base: Number, place: Number) -> None:
    """Fill the table of a place, unless that was done since it got its row."""
    if not desk.filled[place]:
        desk.filled[place] = 1
        first, last = rows.starts[base + place], rows.ends[base + place]
        masks, counts = rows.masks[first:last], rows.counts[first:last]
        _fill_table(desk.tables[place], desk.wide, desk.columns, masks, counts)


@inlined
def two_tables(desk: Desk, a: Number, times_a: Number, b: Number, times_b: Number) -> Number:
    """Cycles of two schemes whose tables are filled; at most `MOST_IN_SUM` µops."""
    table_a, table_b = desk.tables[a], desk.tables[b]
    if times_a == 1 and times_b == 1 and desk.mass[a] + desk.mass[b] <= MOST_IN_ROW:
        _add_two(desk.narrow, table_a, table_b)
        return _densest(desk.narrow, desk.narrow_weights) / desk.table_scale
    integer = desk.wide.dtype.type
    desk.wide[:] = 0
    _add_repeated(desk.wide, table_a, integer(times_a))
    _add_repeated(desk.wide, table_b, integer(times_b))
    return _densest(desk.wide, desk.wide_weights) / desk.table_scale


@inlined
def added_tables(desk: Desk, places: Integers, at: Number, n_terms: Number) -> Number:
    """Cycles of three or more schemes, once each, whose tables are filled; at most `MOST_IN_ROW` µops."""
    total, tables = desk.narrow, desk.tables
    _add_three(
        total,
        tables[np.uint64(places[at])],
        tables[np.uint64(places[at + 1])],
        tables[np.uint64(places[at + 2])],
    )
    t = 3
    while t + 1 < n_terms:
        _add_more(total, tables[np.uint64(places[at + t])], tables[np.uint64(places[at + t + 1])])
        t += 2
    if t < n_terms:
        _add_one(total, tables[np.uint64(places[at + t])])
    return _densest(total, desk.narrow_weights) / desk.table_scale


@inlined
def repeated_tables(
    desk: Desk, places: Integers, at: Number, repeats: Integers, first: Number, n_terms: Number
) -> Number:
    """Cycles of three or more schemes whose tables are filled; at most `MOST_IN_SUM` µops."""
    integer = desk.wide.dtype.type
    desk.wide[:] = 0
    for t in range(n_terms):
        _add_repeated(desk.wide, desk.tables[np.uint64(places[at + t])], integer(repeats[first + t]))
    return _densest(desk.wide, desk.wide_weights) / desk.table_scale


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
def _add_two(total: Integers, a: Integers, b: Integers) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(a[j] + b[j])


@compiled_in_place
def _add_three(total: Integers, a: Integers, b: Integers, c: Integers) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(integer(a[j] + b[j]) + c[j])


@compiled_in_place
def _add_one(total: Integers, a: Integers) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(total[j] + a[j])


@compiled_in_place
def _add_more(total: Integers, a: Integers, b: Integers) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(total[j] + integer(a[j] + b[j]))


@compiled_in_place
def _add_repeated(total: Integers, a: Integers, times: Number) -> None:
    integer = total.dtype.type
    for j in range(len(total)):
        total[j] = integer(total[j] + integer(integer(a[j]) * times))


@compiled_in_place
def _densest(total: Integers, weights: Integers) -> Number:
    """The largest of all sums, each times the weight of its lane; folds `total` up, lane by lane."""
    blocks = len(total) // LANES
    while blocks > 1:
        half = (blocks + 1) // 2
        _fold(total[: (blocks - half) * LANES], total[half * LANES : blocks * LANES])
        blocks = half
    return _heaviest(total[:LANES], weights)


@compiled_in_place
def _fold(left: Integers, right: Integers) -> None:
    for j in range(len(left)):
        left[j] = max(left[j], right[j])


@compiled_in_place
def _heaviest(lanes: Integers, weights: Integers) -> Number:
    integer = weights.dtype.type
    heaviest = integer(0)
    for j in range(len(lanes)):
        heaviest = max(heaviest, integer(integer(lanes[j]) * weights[j]))
    return heaviest
