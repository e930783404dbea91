"""Evaluation of populations of similar mappings: each distinct combination of rows is evaluated once.

After some generations of an evolution the mappings of a population share most of their rows: a scheme then
has few *variants*, and a pair of schemes few combinations of variants, however many mappings there are. The
errors of all experiments with the same schemes are looked up together.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place, inlined
from inference.core.kernels.layout import EvaluationArrays, Mixes, Number, Rows
from inference.core.kernels.loops import cycles_at, units_of
from inference.core.metrics import Loss
from inference.core.tables import Floats, Integers

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: spreads hashes of similar rows


@compiled_in_place
def number_variants(
    rows: Rows,
    n_mappings: Number,
    n_schemes: Number,
    slots: Integers,
    variant: Integers,
    first_row: Integers,
    n_variants: Integers,
) -> None:
    """Number the distinct rows of each scheme from 0, as long as there is room.

    Args:
        rows: Rows of all mappings, numbered mapping by mapping.
        n_mappings: Number of mappings.
        n_schemes: Number of schemes.
        slots: Scratch, int32, a hash table; its length is a power of two > 2 · most.
        variant: Result, int32[n_schemes, n_mappings]: the number of each row.
        first_row: Result, int64[n_schemes, most]: the first row with each number.
        n_variants: Result, int64[n_schemes]: the number of distinct rows, 0 where there are more than `most`.
    """
    last_slot = np.uint64(len(slots) - 1)
    max_variants = first_row.shape[1]
    for s in range(n_schemes):
        slots[:] = -1
        count = 0
        for m in range(n_mappings):
            row = m * n_schemes + s
            slot = (_hash(rows, row) >> np.uint64(20)) & last_slot
            while slots[slot] >= 0 and not _equal(rows, first_row[s, slots[slot]], row):
                slot = (slot + np.uint64(1)) & last_slot
            if slots[slot] < 0:
                if count == max_variants:
                    count = 0
                    break
                slots[slot] = count
                first_row[s, count] = row
                count += 1
            variant[s, m] = slots[slot]
        n_variants[s] = count


@compiled_in_place
def _hash(rows: Rows, row: Number) -> Number:
    value = np.uint64(rows.ends[row] - rows.starts[row])
    for k in range(rows.starts[row], rows.ends[row]):
        value = (value ^ np.uint64(rows.masks[k])) * _STEP
        value ^= value >> np.uint64(29)
        value = (value ^ np.uint64(rows.counts[k])) * _STEP
        value ^= value >> np.uint64(32)
    return value * _STEP


@compiled_in_place
def _equal(rows: Rows, a: Number, b: Number) -> bool:
    length = rows.ends[a] - rows.starts[a]
    if rows.ends[b] - rows.starts[b] != length:
        return False
    for k in range(length):
        x, y = rows.starts[a] + k, rows.starts[b] + k
        if rows.masks[x] != rows.masks[y] or rows.counts[x] != rows.counts[y]:
            return False
    return True


@compiled_in_place
def add_shared_errors(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    variant: Integers,
    begin: Integers,
    starts: Integers,
    members: Integers,
    groups: Integers,
    measured: Floats,
    loss: Loss,
    largest: Number,
    table: Integers,
    combination_of: Integers,
    fresh: Integers,
    max_combinations: Number,
    skipped: Integers,
    errors: Integers,
) -> None:
    """Add the errors of groups of experiments to those of the mappings, each combination of rows once.

    Args:
        arrays: Arrays with a prepared place for each variant.
        rows: Rows of the variants; those of scheme s are at the places from `begin[s]` to `begin[s + 1]`.
        mixes: Experiments.
        variant: Result of `number_variants`.
        begin: See `rows`.
        starts: Group g has the experiments `members[starts[g]:starts[g + 1]]`, all with the same schemes.
        members: See `starts`.
        groups: Numbers of the groups.
        measured: Cycles of each experiment.
        loss: Loss of an error.
        largest: Limit of the loss of one experiment.
        table: Scratch, int64, for as many combinations as any group has.
        combination_of: Scratch, int32[mappings].
        fresh: Scratch, int32[mappings]: the combinations that occur.
        max_combinations: Groups with more combinations are skipped.
        skipped: Result, bool[all groups]: whether a group was skipped.
        errors: Result, int64[mappings], to which the errors are added.
    """
    for g in groups:
        e = members[starts[g]]
        _find_combinations(mixes, variant, begin, np.int64(e), table, combination_of)
        n_fresh = 0
        for m in range(len(errors)):
            if table[np.uint64(combination_of[m])] < 0:
                table[np.uint64(combination_of[m])] = 0
                fresh[n_fresh] = combination_of[m]
                n_fresh += 1
        if n_fresh > max_combinations:
            skipped[g] = True
            continue
        for k in range(starts[g], starts[g + 1]):
            e = members[k]
            for f in range(n_fresh):
                c = np.int64(fresh[f])
                cycles = _combination(arrays, rows, mixes, begin, e, c)
                table[np.uint64(c)] += units_of(cycles, measured[e], loss, largest)
        for m in range(len(errors)):
            errors[m] += table[np.uint64(combination_of[m])]


@compiled_in_place
def _find_combinations(
    mixes: Mixes, variant: Integers, begin: Integers, e: Number, table: Integers, combination_of: Integers
) -> None:
    """Write each mapping's combination into `combination_of`, and -1 into `table` for all possible ones."""
    combinations = 1
    combination_of[:] = 0
    integer = combination_of.dtype.type
    for t in range(mixes.offsets[e], mixes.offsets[e + 1]):
        s = mixes.scheme[t]
        width = integer(begin[s + 1] - begin[s])
        combinations *= begin[s + 1] - begin[s]
        variants = variant[s]
        for m in range(len(combination_of)):
            combination_of[m] = integer(integer(combination_of[m] * width) + variants[m])
    table[:combinations] = -1


@inlined
def _combination(
    arrays: EvaluationArrays, rows: Rows, mixes: Mixes, begin: Integers, e: Number, c: Number
) -> Number:
    """Inverse throughput of experiment e under combination c of its variants, the last scheme's first."""
    first, last = mixes.offsets[e], mixes.offsets[e + 1]
    for t in range(last - first - 1, -1, -1):
        s = mixes.scheme[first + t]
        width = begin[s + 1] - begin[s]
        arrays.places[t] = begin[s] + c % width
        c //= width
    return cycles_at(arrays, rows, np.int64(0), arrays.places, np.int64(0), mixes, e)
