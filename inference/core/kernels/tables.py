"""Tables of the µops bound to each set of ports: being bound is linear, so they add up over a mix.

The sets are laid out in blocks of `LANES` columns, such that a lane, the columns at one place of all blocks,
holds sets of one size. Then the largest sum of every size is found by folding blocks onto each other, and a
weight per lane makes sizes comparable (`vectors`). Sums of so few µops that they fit the bytes of the tables
are twice as fast.
"""

from __future__ import annotations

import numpy as np

from inference.core.arrays import Integers
from inference.core.compiling import compiled_in_place, inlined
from inference.core.kernels.layout import MOST_IN_ROW, EvaluationArrays, Number, Rows
from inference.core.kernels.vectors import narrow_many, narrow_two, wide_many, wide_two


@inlined
def see_to_table(arrays: EvaluationArrays, rows: Rows, base: Number, place: Number) -> None:
    """Fill the table of a place, unless that was done since it got its row."""
    if not arrays.filled[place]:
        arrays.filled[place] = 1
        first, last = rows.starts[base + place], rows.ends[base + place]
        masks, counts = rows.masks[first:last], rows.counts[first:last]
        _fill_table(arrays.tables[place], arrays.filling, arrays.columns, masks, counts)


@inlined
def two_tables(arrays: EvaluationArrays, a: Number, times_a: Number, b: Number, times_b: Number) -> Number:
    """Cycles of two schemes whose tables are filled; at most `MOST_IN_SUM` µops."""
    mass = arrays.mass[a] * times_a + arrays.mass[b] * times_b
    if mass > MOST_IN_ROW or min(times_a, times_b) > 1:
        heaviest = _wide_two(arrays.tables, a, times_a, b, times_b, arrays.table_weights)
    elif times_b > 1:
        heaviest = _narrow_two(arrays.tables, a, _scaled(arrays, b, times_b), arrays.table_weights)
    elif times_a > 1:
        heaviest = _narrow_two(arrays.tables, b, _scaled(arrays, a, times_a), arrays.table_weights)
    else:
        heaviest = _narrow_two(arrays.tables, a, b, arrays.table_weights)
    return heaviest / arrays.table_scale


# Vectors stay out of the loops over experiments, which have better use for the registers.
@compiled_in_place
def _narrow_two(tables: Integers, a: Number, b: Number, weights: Integers) -> Number:
    return narrow_two(tables, a, b, weights)


@compiled_in_place
def _wide_two(
    tables: Integers, a: Number, times_a: Number, b: Number, times_b: Number, weights: Integers
) -> Number:
    return wide_two(tables, a, times_a, b, times_b, weights)


@compiled_in_place
def _narrow_many(
    tables: Integers, places: Integers, at: Number, n_terms: Number, weights: Integers
) -> Number:
    return narrow_many(tables, places, at, n_terms, weights)


@compiled_in_place
def _wide_many(
    tables: Integers,
    places: Integers,
    at: Number,
    repeats: Integers,
    first: Number,
    n_terms: Number,
    weights: Integers,
) -> Number:
    return wide_many(tables, places, at, repeats, first, n_terms, weights)


@inlined
def _scaled(arrays: EvaluationArrays, place: Number, times: Number) -> Number:
    """Where the table of a place times a number is; kept for the next experiment with the same."""
    last = np.int64(len(arrays.tables) - 1)
    if arrays.scaled[0] != place or arrays.scaled[1] != times:
        arrays.scaled[0], arrays.scaled[1] = place, times
        _fill_scaled(arrays.tables[last], arrays.tables[place], arrays.tables.dtype.type(times))
    return last


@compiled_in_place
def _fill_scaled(target: Integers, table: Integers, times: Number) -> None:
    narrow = target.dtype.type
    for j in range(len(target)):
        target[j] = narrow(table[j] * times)


@inlined
def added_tables(arrays: EvaluationArrays, places: Integers, at: Number, n_terms: Number) -> Number:
    """Cycles of three or more schemes, once each, whose tables are filled; at most `MOST_IN_ROW` µops."""
    return _narrow_many(arrays.tables, places, at, n_terms, arrays.table_weights) / arrays.table_scale


@inlined
def repeated_tables(
    arrays: EvaluationArrays, places: Integers, at: Number, repeats: Integers, first: Number, n_terms: Number
) -> Number:
    """Cycles of three or more schemes whose tables are filled; at most `MOST_IN_SUM` µops."""
    heaviest = _wide_many(arrays.tables, places, at, repeats, first, n_terms, arrays.table_weights)
    return heaviest / arrays.table_scale


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
