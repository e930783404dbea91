"""Evaluation of many experiments under many mappings.

Each row of µops is prepared once (`prepare`), for all experiments with its scheme.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place, inlined
from inference.core.kernels.densest import (
    cycles_alone,
    cycles_of_many,
    cycles_of_two,
    densest_union,
    gather_row,
    size_of,
)
from inference.core.kernels.layout import LISTED, EvaluationArrays, Mixes, Number, Rows
from inference.core.metrics import ERROR_UNIT, Loss
from inference.core.tables import Floats, Integers

_FEW_KINDS = 6
"""Kinds of µops at most for which unions are listed: more kinds rarely have few enough unions."""


@compiled_in_place
def prepare(arrays: EvaluationArrays, rows: Rows, base: Number, places: Integers) -> None:
    """`prepare_place` for each of the places."""
    for place in places:
        prepare_place(arrays, rows, base, np.int64(place))


@compiled_in_place
def prepare_place(arrays: EvaluationArrays, rows: Rows, base: Number, place: Number) -> None:
    """List the unions of the port sets in a row, each with the number of µops inside it.

    A union that arises in several ways is listed once, with the largest number. Also stores the union with
    the most µops per port, which limits a single instance of the scheme: its µops and its number of ports.

    Args:
        arrays: Receives the unions at `place`.
        rows: µops of all schemes.
        base: Row of place 0.
        place: Place of the scheme; its row is `base + place`.
    """
    arrays.filled[place] = 0  # its table of port sets is stale
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
            arrays.kinds, arrays.amounts, n, arrays.live, arrays.live_mass, arrays.placed, arrays.ports
        )
    for k in range(count):
        mass, size = np.int64(masses[k]), size_of(unions[k])
        if mass * width > best * size:  # mass / size > best / width, in whole numbers
            best, width = mass, size
    arrays.alone_mass[place], arrays.alone_width[place] = best, width


@compiled_in_place
def _grow(unions: Integers, masses: Integers, count: Number, kind: Number, amount: Number) -> Number:
    """Add one kind of µop to a list of unions; returns the new length, -1 for too many.

    Each listed union either contains the kind's ports, and has its µops inside too, or grows by them to
    another union. The kind's ports are a union by themselves, unless they are listed or arise that way.
    """
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


@inlined
def cycles_of(arrays: EvaluationArrays, rows: Rows, base: Number, mixes: Mixes, e: Number) -> Number:
    """Inverse throughput of experiment e under the mapping whose scheme s has row `base + s`."""
    return cycles_at(arrays, rows, base, mixes.scheme, mixes.offsets[e], mixes, e)


@inlined
def cycles_at(
    arrays: EvaluationArrays, rows: Rows, base: Number, places: Integers, at: Number, mixes: Mixes, e: Number
) -> Number:
    """Inverse throughput of an experiment, whose terms have the rows `base + places[at]` and following.

    Experiments of one and of two schemes, the most frequent ones, need no general algorithm.

    Args:
        arrays: Scratch in which these places have been prepared.
        rows: µops of all schemes.
        base: Row of place 0.
        places: Places of the terms.
        at: Index of the experiment's first term in `places`.
        mixes: All experiments.
        e: Index of the experiment.
    """
    first, last = mixes.offsets[e], mixes.offsets[e + 1]
    n_terms, repeats = last - first, mixes.repeats
    if n_terms == 1:
        ports = cycles_alone(arrays, np.int64(places[at]), np.int64(repeats[first]))
    elif n_terms == 2:
        a, b = np.int64(places[at]), np.int64(places[at + 1])
        times_a, times_b = np.int64(repeats[first]), np.int64(repeats[first + 1])
        ports = cycles_of_two(arrays, rows, base, a, times_a, b, times_b)
    else:
        ports = cycles_of_many(arrays, rows, base, places, at, repeats, first, n_terms)
    return max(ports, mixes.floor[e])


@inlined
def loss_of(cycles: Number, measured: Number, loss: Loss) -> Number:
    """The loss of a prediction by `Loss`; both times in cycles."""
    error = (cycles - measured) / measured
    if loss.spread == 0:
        return abs(error)
    if error < 0:
        error = min(error + loss.forgiven, 0.0)
    size = abs(error)
    square = error * error
    spread = loss.spread if error > 0 else loss.waste * loss.spread
    bounded = square / (square + spread * spread)
    if error > 0:
        bounded *= loss.over
    return bounded + loss.distance * min(size, 1.0)


@inlined
def units_of(cycles: Number, measured: Number, loss: Loss, largest: Number) -> Number:
    """The loss of a prediction, at most `largest`, in multiples of `ERROR_UNIT`, rounded."""
    return np.int64(min(loss_of(cycles, measured, loss), largest) / ERROR_UNIT + 0.5)


@compiled_in_place
def evaluate(
    arrays: EvaluationArrays, rows: Rows, base: Number, mixes: Mixes, selected: Integers, out: Floats
) -> None:
    """Compute the cycles of experiments under the mapping that the arrays were prepared for.

    Args:
        arrays: Prepared for the mapping.
        rows: µops of all schemes.
        base: Row of the mapping's first scheme.
        mixes: All experiments.
        selected: Indices of the experiments to compute.
        out: Result, float64[len(selected)], in cycles.
    """
    for k in range(len(selected)):
        out[k] = cycles_of(arrays, rows, base, mixes, selected[k])


@compiled_in_place
def fill_cycles(
    arrays: EvaluationArrays, rows: Rows, mixes: Mixes, occurring: Integers, selected: Integers, out: Floats
) -> None:
    """Cycles of experiments under several mappings.

    Args:
        arrays: Scratch, prepared anew for each mapping.
        rows: Rows of all mappings, numbered mapping by mapping.
        mixes: Experiments.
        occurring: Numbers of the schemes that occur in them.
        selected: Numbers of the experiments to evaluate.
        out: Result, float64[mappings, selected experiments].
    """
    n_schemes = len(arrays.listed)
    for m in range(len(out)):
        prepare(arrays, rows, m * n_schemes, occurring)
        evaluate(arrays, rows, m * n_schemes, mixes, selected, out[m])


@compiled_in_place
def add_errors(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    occurring: Integers,
    selected: Integers,
    measured: Floats,
    loss: Loss,
    largest: Number,
    cycles: Floats,
    errors: Integers,
) -> None:
    """Add the losses of the experiments `selected` to `errors`, mapping by mapping.

    Args:
        arrays: Scratch of one thread.
        rows: µops of the mappings' schemes, mapping by mapping.
        mixes: All experiments.
        occurring: Numbers of the schemes that occur in them.
        selected: Numbers of the experiments to evaluate.
        measured: Cycles of all experiments.
        loss: The function of prediction and measurement that is added up.
        largest: Upper bound of an experiment's loss.
        cycles: Scratch, float64[n] with n at least the number of `selected`.
        errors: Sums in `ERROR_UNIT`, int64[mappings], to which the losses are added.
    """
    n_schemes = len(arrays.listed)
    for m in range(len(errors)):
        prepare(arrays, rows, m * n_schemes, occurring)
        evaluate(arrays, rows, m * n_schemes, mixes, selected, cycles)
        total = np.int64(0)
        for k in range(len(selected)):
            total += units_of(cycles[k], measured[selected[k]], loss, largest)
        errors[m] += total


@compiled_in_place
def refresh(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    selected: Integers,
    measured: Floats,
    loss: Loss,
    largest: Number,
    cycles: Floats,
    errors: Integers,
) -> Number:
    """Compute cycles and losses of experiments under the mapping that the arrays were prepared for.

    Args:
        arrays: Prepared for the mapping.
        rows: µops of its schemes.
        mixes: All experiments.
        selected: Indices of the experiments to compute.
        measured: Measured cycles of all experiments.
        loss: Loss of an error.
        largest: Limit of the loss of one experiment, in `ERROR_UNIT`.
        cycles: Result, in the order of `selected`.
        errors: Result in the same order, in `ERROR_UNIT`.

    Returns:
        The sum of the losses.
    """
    evaluate(arrays, rows, np.int64(0), mixes, selected, cycles)
    total = np.int64(0)
    for k in range(len(selected)):
        errors[k] = units_of(cycles[k], measured[selected[k]], loss, largest)
        total += errors[k]
    return total
