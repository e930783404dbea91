"""Tables of the µops confined to each set of ports, which add up over a mix, as confinement is linear.

The sets are laid out in blocks of `LANES` columns, such that a lane, the columns at one place of all blocks,
holds sets of one size. Then the largest sum of every size is found by folding blocks onto each other, and a
weight per lane makes sizes comparable. Sums of so few µops that they fit the bytes of the tables
are twice as fast.

The inner loops are written in vectors: a compiler that has to find them leaves half the speed. The sum of
some tables is made block by block and folded into one vector that holds the largest sum of each lane; nothing
but the tables is read, and nothing is written. Vectors are as wide as a block, which LLVM splits into what
the processor has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as untyped

from inference.core.compiling import compiled_in_place, in_llvm, inlined
from inference.core.kernels.layout import LANES, MAX_IN_ROW, EvaluationArrays, Number, Rows
from inference.core.tables import Integers

cgutils: Any = untyped
Value = Any
"""A value in LLVM's intermediate representation."""

_BYTE, _WORD, _INT, _LONG = (ir.IntType(bits) for bits in (8, 16, 32, 64))


@in_llvm
def narrow_two(typing: Any, tables: Any, a: Any, b: Any, weights: Any) -> Any:
    """The largest of all sums, weighted, of tables a and b: int64.

    `tables` uint8[places, columns], `weights` int32[LANES]. No sum may exceed a byte.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        table, weight = (_array(context, builder, signature, arguments, k) for k in (0, 3))
        first, second = (_row(builder, table, arguments[k]) for k in (1, 2))

        def total(offset: Value) -> Value:
            return builder.add(_block(builder, first, offset), _block(builder, second, offset))

        return _heaviest(builder, table, weight, _BYTE, _INT, total)

    return types.int64(tables, types.int64, types.int64, weights), generate


@in_llvm
def wide_two(typing: Any, tables: Any, a: Any, times_a: Any, b: Any, times_b: Any, weights: Any) -> Any:
    """`narrow_two` for `times_a` times table a and `times_b` times table b. No sum may exceed 16 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        table, weight = (_array(context, builder, signature, arguments, k) for k in (0, 5))
        rows = [_row(builder, table, arguments[k]) for k in (1, 3)]
        times = [_all_lanes(builder, arguments[k]) for k in (2, 4)]

        def total(offset: Value) -> Value:
            first, second = (
                builder.mul(_widen(builder, _block(builder, row, offset), _WORD), factor)
                for row, factor in zip(rows, times, strict=True)
            )
            return builder.add(first, second)

        return _heaviest(builder, table, weight, _WORD, _LONG, total)

    return types.int64(tables, *[types.int64] * 4, weights), generate


@in_llvm
def narrow_many(typing: Any, tables: Any, places: Any, at: Any, n: Any, weights: Any) -> Any:
    """`narrow_two` for the tables `places[at:at + n]`, int32, once each. No sum may exceed a byte."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        table, place, weight = (_array(context, builder, signature, arguments, k) for k in (0, 1, 4))

        def total(offset: Value) -> Value:
            def add(so_far: Value, k: Value) -> Value:
                row = _row(builder, table, _number(builder, place, builder.add(arguments[2], k)))
                return builder.add(so_far, _block(builder, row, offset))

            return _sum(builder, _BYTE, arguments[3], add)

        return _heaviest(builder, table, weight, _BYTE, _INT, total)

    return types.int64(tables, places, types.int64, types.int64, weights), generate


@in_llvm
def wide_many(
    typing: Any, tables: Any, places: Any, at: Any, repeats: Any, first: Any, n: Any, weights: Any
) -> Any:
    """`narrow_many` for tables that count several times. No sum may exceed 16 bits.

    Args:
        typing: Numba's typing context.
        tables: uint8[places, columns].
        places: int32, places of the tables.
        at: Index of the first table in `places`.
        repeats: int32, multiplicities.
        first: Index of the first multiplicity in `repeats`.
        n: Number of tables.
        weights: int32[LANES], weights of the columns.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Value:
        table, place, times, weight = (
            _array(context, builder, signature, arguments, k) for k in (0, 1, 3, 6)
        )

        def total(offset: Value) -> Value:
            def add(so_far: Value, k: Value) -> Value:
                row = _row(builder, table, _number(builder, place, builder.add(arguments[2], k)))
                repeat = _number(builder, times, builder.add(arguments[4], k))
                block = _widen(builder, _block(builder, row, offset), _WORD)
                return builder.add(so_far, builder.mul(block, _all_lanes(builder, repeat)))

            return _sum(builder, _WORD, arguments[5], add)

        return _heaviest(builder, table, weight, _WORD, _LONG, total)

    numbers = types.int64
    return types.int64(tables, places, numbers, repeats, numbers, numbers, weights), generate


def _heaviest(
    builder: Any, table: Any, weight: Any, lane: Any, result: Any, total: Callable[[Value], Value]
) -> Value:
    """The largest `total(offset)` of any block, lane by lane; then the largest lane times its weight."""
    vector = ir.VectorType(lane, LANES)
    largest = cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * LANES))
    columns = cgutils.unpack_tuple(builder, table.shape)[1]
    blocks = builder.udiv(columns, ir.Constant(_LONG, LANES))
    with cgutils.for_range(builder, blocks, intp=_LONG) as loop:
        sums = total(builder.mul(loop.index, ir.Constant(_LONG, LANES)))
        before = builder.load(largest)
        builder.store(builder.select(builder.icmp_unsigned(">", sums, before), sums, before), largest)
    weights = builder.load(
        builder.bitcast(weight.data, ir.VectorType(_INT, LANES).as_pointer()), align=_INT.width // 8
    )
    if result is not _INT:
        weights = _widen(builder, weights, result)
    weighted = builder.mul(_widen(builder, builder.load(largest), result), weights)
    fold = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(result, [weighted.type]),
        f"llvm.vector.reduce.umax.v{LANES}i{result.width}",
    )
    heaviest = builder.call(fold, [weighted])
    return builder.zext(heaviest, _LONG) if result is _INT else heaviest


def _sum(builder: Any, lane: Any, n: Value, add: Callable[[Value, Value], Value]) -> Value:
    so_far = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(lane, LANES), [0] * LANES))
    with cgutils.for_range(builder, n, intp=_LONG) as loop:
        builder.store(add(builder.load(so_far), loop.index), so_far)
    return builder.load(so_far)


def _array(context: Any, builder: Any, signature: Any, arguments: Any, k: int) -> Any:
    return context.make_array(signature.args[k])(context, builder, value=arguments[k])


def _row(builder: Any, table: Any, place: Value) -> Value:
    columns = cgutils.unpack_tuple(builder, table.shape)[1]
    return builder.gep(table.data, [builder.mul(place, columns)])


def _block(builder: Any, row: Value, offset: Value) -> Value:
    pointer = builder.bitcast(builder.gep(row, [offset]), ir.VectorType(_BYTE, LANES).as_pointer())
    return builder.load(pointer, align=1)


def _number(builder: Any, array: Any, k: Value) -> Value:
    return builder.sext(builder.load(builder.gep(array.data, [k])), _LONG)


def _widen(builder: Any, vector: Value, lane: Any) -> Value:
    return builder.zext(vector, ir.VectorType(lane, LANES))


def _all_lanes(builder: Any, number: Value) -> Value:
    """A vector with the number, which fits 16 bits, in all lanes."""
    vector = ir.VectorType(_WORD, LANES)
    single_lane = builder.insert_element(
        ir.Constant(vector, ir.Undefined), builder.trunc(number, _WORD), ir.Constant(_INT, 0)
    )
    nowhere = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    return builder.shuffle_vector(single_lane, ir.Constant(vector, ir.Undefined), nowhere)


@inlined
def ensure_table(arrays: EvaluationArrays, rows: Rows, base: Number, place: Number) -> None:
    """Fill the table of a place, unless it is filled for its present row."""
    if not arrays.filled[place]:
        arrays.filled[place] = 1
        first, last = rows.starts[base + place], rows.ends[base + place]
        masks, counts = rows.masks[first:last], rows.counts[first:last]
        _fill_table(arrays.tables[place], arrays.filling, arrays.columns, masks, counts)


@inlined
def two_tables(arrays: EvaluationArrays, a: Number, times_a: Number, b: Number, times_b: Number) -> Number:
    """Cycles of two schemes whose tables are filled; at most `MAX_IN_SUM` µops."""
    mass = arrays.mass[a] * times_a + arrays.mass[b] * times_b
    if mass > MAX_IN_ROW or min(times_a, times_b) > 1:
        heaviest = _wide_two(arrays.tables, a, times_a, b, times_b, arrays.table_weights)
    elif times_b > 1:
        heaviest = _narrow_two(arrays.tables, a, _scaled_table(arrays, b, times_b), arrays.table_weights)
    elif times_a > 1:
        heaviest = _narrow_two(arrays.tables, b, _scaled_table(arrays, a, times_a), arrays.table_weights)
    else:
        heaviest = _narrow_two(arrays.tables, a, b, arrays.table_weights)
    return heaviest / arrays.table_scale


# Not inlined: the loops over experiments need the vector registers.
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
def _scaled_table(arrays: EvaluationArrays, place: Number, times: Number) -> Number:
    """Place of the table of `place` multiplied by `times`; cached until another one is needed."""
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
    """Cycles of three or more schemes, once each, whose tables are filled; at most `MAX_IN_ROW` µops."""
    return _narrow_many(arrays.tables, places, at, n_terms, arrays.table_weights) / arrays.table_scale


@inlined
def repeated_tables(
    arrays: EvaluationArrays, places: Integers, at: Number, repeats: Integers, first: Number, n_terms: Number
) -> Number:
    """Cycles of three or more schemes whose tables are filled; at most `MAX_IN_SUM` µops."""
    heaviest = _wide_many(arrays.tables, places, at, repeats, first, n_terms, arrays.table_weights)
    return heaviest / arrays.table_scale


@compiled_in_place
def _fill_table(
    table: Integers, total: Integers, columns: Integers, masks: Integers, counts: Integers
) -> None:
    """Count the µops of a row that are confined to each set of ports; `total` is scratch."""
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
        extra = count if integer(columns[j] & needed) == needed else integer(0)
        total[j] = integer(total[j] + extra)
