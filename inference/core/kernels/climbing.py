"""The greedy hill climb on one mapping (§5.1.3, local search), without a step outside compiled code."""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import size_of
from inference.core.kernels.layout import EvaluationArrays, Mixes, Number, Rows
from inference.core.kernels.loops import prepare, prepare_place, refresh
from inference.core.metrics import Loss
from inference.core.tables import Floats, Integers


@compiled_in_place
def climb(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    schemes: Integers,
    all_experiments: Integers,
    starts: Integers,
    members: Integers,
    measured: Floats,
    loss: Loss,
    largest: Number,
    unit: Number,
    error_slope: Number,
    volume_slope: Number,
    keep_last: Number,
    most_uops: Number,
    masks: Integers,
    cycles: Floats,
    trial: Integers,
    errors: Integers,
) -> Number:
    """Climb from the mapping in `rows`, in place; its rows are sorted by mask without repeats.

    For each µop of each scheme, its count goes down while the mapping stays at least as fit; if not even
    once, then up while the mapping becomes strictly fitter.

    Args:
        arrays: Scratch of the evaluation, see `layout.EvaluationArrays`.
        rows: Of one mapping, changed in place.
        mixes: Experiments.
        schemes: Numbers of all schemes, int32.
        all_experiments: Numbers of all experiments, int64.
        starts: Scheme s occurs in the experiments `members[starts[s]:starts[s + 1]]`.
        members: See `starts`.
        measured: Cycles of each experiment.
        loss: Loss of an error.
        largest: Limit of the loss of one experiment.
        unit: What one unit of an error counts in the mean.
        error_slope: Weight of the mean error.
        volume_slope: Weight of each port of a µop.
        keep_last: Whether the last µop of a scheme stays, 0 or 1.
        most_uops: Largest number of µops of a scheme.
        masks: Scratch, as long as the longest row.
        cycles: Scratch, float64 per experiment.
        trial: Scratch, int64 per experiment.
        errors: Scratch, int64 per experiment; the errors of the final mapping at the end.

    Returns:
        The sum of errors of the final mapping.
    """
    prepare(arrays, rows, np.int64(0), schemes)
    n = len(all_experiments)
    total = refresh(arrays, rows, mixes, all_experiments, measured, loss, largest, cycles, errors)
    for s in range(len(schemes)):
        experiments = members[starts[s] : starts[s + 1]]
        n_kinds = rows.ends[s] - rows.starts[s]
        for k in range(n_kinds):
            masks[k] = rows.masks[rows.starts[s] + k]
        for k in range(n_kinds):
            change, moved = np.int64(-1), False
            while True:
                at = _place_of(rows, s, masks[k])
                if at >= 0 and _allowed(arrays, rows, s, at, change, keep_last, most_uops):
                    _change(rows, s, at, change)
                    after = total + _try(
                        arrays,
                        rows,
                        mixes,
                        np.int64(s),
                        experiments,
                        measured,
                        loss,
                        largest,
                        cycles,
                        trial,
                        errors,
                    )
                    worse = error_slope * (after * unit / n - total * unit / n)
                    worse += volume_slope * (change * size_of(masks[k]))
                    if worse < 0 or (worse == 0 and change < 0):
                        total, moved = after, True
                        for j in range(len(experiments)):
                            errors[experiments[j]] = trial[j]
                        continue
                    _undo(rows, s, at, masks[k], change)
                    prepare_place(arrays, rows, np.int64(0), np.int64(s))
                if moved or change > 0:
                    break
                change = np.int64(1)
    return total


@compiled_in_place
def _try(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    scheme: Number,
    experiments: Integers,
    measured: Floats,
    loss: Loss,
    largest: Number,
    cycles: Floats,
    trial: Integers,
    errors: Integers,
) -> Number:
    """Write the errors of a changed scheme's experiments into `trial`; returns the change of their sum."""
    prepare_place(arrays, rows, np.int64(0), scheme)
    change = refresh(arrays, rows, mixes, experiments, measured, loss, largest, cycles, trial)
    for j in range(len(experiments)):
        change -= errors[experiments[j]]
    return change


@compiled_in_place
def _place_of(rows: Rows, scheme: Number, mask: Number) -> Number:
    for at in range(rows.starts[scheme], rows.ends[scheme]):
        if rows.masks[at] == mask:
            return at
    return -1


@compiled_in_place
def _allowed(
    arrays: EvaluationArrays,
    rows: Rows,
    scheme: Number,
    at: Number,
    change: Number,
    keep_last: Number,
    most_uops: Number,
) -> bool:
    if change > 0:
        return bool(arrays.mass[scheme] < most_uops)
    last = rows.ends[scheme] - rows.starts[scheme] == 1 and rows.counts[at] == 1
    return not (bool(last) and bool(keep_last))


@compiled_in_place
def _change(rows: Rows, scheme: Number, at: Number, change: Number) -> None:
    """Add `change` to a count; a µop with count 0 is removed."""
    rows.counts[at] += change
    if rows.counts[at] == 0:
        rows.ends[scheme] -= 1
        for k in range(at, rows.ends[scheme]):
            rows.masks[k] = rows.masks[k + 1]
            rows.counts[k] = rows.counts[k + 1]


@compiled_in_place
def _undo(rows: Rows, scheme: Number, at: Number, mask: Number, change: Number) -> None:
    if at < rows.ends[scheme] and rows.masks[at] == mask:
        rows.counts[at] -= change
        return
    for k in range(rows.ends[scheme], at, -1):
        rows.masks[k] = rows.masks[k - 1]
        rows.counts[k] = rows.counts[k - 1]
    rows.masks[at], rows.counts[at] = mask, -change
    rows.ends[scheme] += 1
