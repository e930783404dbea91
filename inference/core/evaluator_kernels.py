"""The compiled inner loops of the evaluator; `evaluator_numpy.py` says what each one means.

Importing this module loads numba. Everything is arithmetic on whole numbers up to the one division that ends
each experiment, so answers do not depend on order, threads or integer width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.compiling import compiled

Integers = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_MAX_KINDS = 64
_MAX_UNIONS = 1 << 12


@compiled
def fill_tables(
    tables: Integers,
    subsets: Integers,
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    occurring: Integers,
) -> None:
    """See `evaluator_numpy.fill_tables`."""
    for r in range(len(occurring)):
        row = tables[r]
        row[:] = 0
        for u in range(offsets[occurring[r]], offsets[occurring[r] + 1]):
            needed = subsets.dtype.type(masks[u])
            count = tables.dtype.type(counts[u])
            for j in range(len(row)):
                if subsets[j] & needed == needed:
                    row[j] += count


@compiled
def _densest(total: Integers, class_ends: Integers) -> float:
    """The largest ratio of bound µops to ports; `total` in classes by set size, the set of all ports last."""
    best, width = np.int64(0), np.int64(1)
    everything = np.int64(total[len(total) - 1])
    start = 0
    for k in range(len(class_ends)):
        if everything * width <= best * (k + 1):
            break  # not even all µops together could exceed the best on this many ports
        block = total[start : class_ends[k]]
        largest = total.dtype.type(0)
        for j in range(len(block)):
            largest = max(largest, block[j])
        if largest * width > best * (k + 1):
            best, width = np.int64(largest), np.int64(k + 1)
        start = class_ends[k]
    return best / width


@compiled
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
    """See `evaluator_numpy.cycles_by_tables`."""
    integer = tables.dtype.type
    total = np.zeros(tables.shape[1], dtype=tables.dtype)
    for e in which:
        first, last = offsets[e], offsets[e + 1]
        # One pass over memory for up to three schemes: the loops are bound by loads and stores.
        a, times_a = tables[row_of[first]], integer(repeats[first])
        if last - first == 1:
            for j in range(len(total)):
                total[j] = a[j] * times_a
        else:
            b, times_b = tables[row_of[first + 1]], integer(repeats[first + 1])
            if last - first == 2:
                for j in range(len(total)):
                    total[j] = a[j] * times_a + b[j] * times_b
            else:
                c, times_c = tables[row_of[first + 2]], integer(repeats[first + 2])
                for j in range(len(total)):
                    total[j] = a[j] * times_a + b[j] * times_b + c[j] * times_c
            for t in range(first + 3, last):
                d, times_d = tables[row_of[t]], integer(repeats[t])
                for j in range(len(total)):
                    total[j] += d[j] * times_d
        cycles[e] = max(_densest(total, class_ends), floor[e])


@compiled
def _size(ports: int) -> int:
    size = 0
    while ports:
        ports &= ports - 1
        size += 1
    return size


@compiled
def _gather(
    masks: Integers,
    counts: Integers,
    scheme: Integers,
    repeats: Integers,
    kinds: Integers,
    mass: Integers,
) -> int:
    """The distinct µops of one experiment and their numbers; returns how many kinds, -1 if too many."""
    n = 0
    for t in range(len(scheme)):
        for u in range(masks.shape[1]):
            amount = np.int64(counts[scheme[t], u]) * repeats[t]
            if amount == 0:
                continue
            k = 0
            while k < n and kinds[k] != masks[scheme[t], u]:
                k += 1
            if k == n:
                if n == len(kinds):
                    return -1
                kinds[n] = masks[scheme[t], u]
                mass[n] = 0
                n += 1
            mass[k] += amount
    return n


@compiled
def _list_unions(kinds: Integers, unions: Integers, slots: Integers) -> int:
    """All different unions of the kinds, the empty one first; returns how many, -1 if too many.

    `slots` is an open-addressing hash table of indices + 1 into `unions`, its length a power of two.
    """
    last_slot = np.uint64(len(slots) - 1)
    slots[:] = 0
    unions[0] = 0
    n = 1
    for kind in kinds:
        for i in range(n):
            union = unions[i] | kind
            if union == unions[i]:
                continue
            # Fibonacci hashing: the high bits of the product are well mixed.
            slot = (np.uint64(union) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)) & last_slot
            while slots[slot] and unions[slots[slot] - 1] != union:
                slot = (slot + np.uint64(1)) & last_slot
            if slots[slot]:
                continue
            if n == len(unions):
                return -1
            unions[n] = union
            n += 1
            slots[slot] = n
    return n


@compiled
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
    """See `evaluator_numpy.cycles_by_unions`; NaN where an experiment has too many unions to list here."""
    kinds = np.empty(_MAX_KINDS, dtype=np.int64)
    mass = np.empty(_MAX_KINDS, dtype=np.int64)
    unions = np.empty(_MAX_UNIONS, dtype=np.int64)
    slots = np.empty(4 * _MAX_UNIONS, dtype=np.int64)
    for e in which:
        terms = slice(offsets[e], offsets[e + 1])
        d = _gather(masks, counts, scheme[terms], repeats[terms], kinds, mass)
        n = -1 if d < 0 else _list_unions(kinds[:d], unions, slots[: min(4 << min(d, 20), len(slots))])
        if n < 0:
            cycles[e] = np.nan
            continue
        best, width = np.int64(0), np.int64(1)
        for i in range(1, n):
            bound = np.int64(0)
            for k in range(d):
                if kinds[k] & ~unions[i] == 0:
                    bound += mass[k]
            size = _size(unions[i])
            if bound * width > best * size:
                best, width = bound, np.int64(size)
        cycles[e] = max(best / width, floor[e])


@compiled
def mean_relative_error(cycles: Floats, measured: Floats) -> float:
    """See `evaluator_numpy.mean_relative_error`."""
    n = len(cycles)
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(n // 4):
        k = 4 * i
        s0 += abs(cycles[k] - measured[k]) / measured[k]
        s1 += abs(cycles[k + 1] - measured[k + 1]) / measured[k + 1]
        s2 += abs(cycles[k + 2] - measured[k + 2]) / measured[k + 2]
        s3 += abs(cycles[k + 3] - measured[k + 3]) / measured[k + 3]
    total = ((s0 + s1) + s2) + s3
    for k in range(n - n % 4, n):
        total += abs(cycles[k] - measured[k]) / measured[k]
    return total / n
