"""The greedy hill climb on one mapping (§5.1.3, local search), without a step outside compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import size_of
from inference.core.kernels.layout import EvaluationArrays, Mixes, Number, Rows
from inference.core.kernels.loops import prepare, prepare_place, refresh
from inference.core.metrics import Loss
from inference.core.tables import Floats, Integers


class ClimbTable(NamedTuple):
    """The numbers of all schemes (int32) and experiments (int64), and the experiments of each scheme.

    Scheme s occurs in the experiments `members[starts[s]:starts[s + 1]]`.
    """

    schemes: Integers
    experiments: Integers
    starts: Integers
    members: Integers


class ClimbObjective(NamedTuple):
    """What makes a mapping fitter.

    Attributes:
        measured: Cycles of each experiment.
        loss: Loss of an error.
        largest: Limit of the loss of one experiment.
        unit: What one unit of an error counts in the mean.
        error_slope: Weight of the mean error.
        volume_slope: Weight of each port of a µop.
        keeps_last: Whether the last µop of a scheme stays.
        most_uops: Largest number of µops of a scheme.
    """

    measured: Floats
    loss: Loss
    largest: Number
    unit: Number
    error_slope: Number
    volume_slope: Number
    keeps_last: bool
    most_uops: Number


class ClimbScratch(NamedTuple):
    """`masks`: int64, as long as the longest row. The others have an entry per experiment: float64, int64,
    and the errors of the mapping, int64.
    """

    masks: Integers
    cycles: Floats
    trial: Integers
    errors: Integers


@compiled_in_place
def climb(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    table: ClimbTable,
    objective: ClimbObjective,
    scratch: ClimbScratch,
) -> Number:
    """Climb from the mapping in `rows`, in place; its rows are sorted by mask without repeats.

    For each µop of each scheme, its count goes down while the mapping stays at least as fit; if not even
    once, then up while the mapping becomes strictly fitter.

    Args:
        arrays: Scratch of the evaluation, see `layout.EvaluationArrays`.
        rows: Rows of one mapping, changed in place.
        mixes: Experiments.
        table: All schemes and experiments.
        objective: The measurements and weights.
        scratch: Has the errors of the final mapping at the end.

    Returns:
        The sum of errors of the final mapping.
    """
    prepare(arrays, rows, np.int64(0), table.schemes)
    masks, errors = scratch.masks, scratch.errors
    total = refresh(
        arrays,
        rows,
        mixes,
        table.experiments,
        objective.measured,
        objective.loss,
        objective.largest,
        scratch.cycles,
        errors,
    )
    for s in range(len(table.schemes)):
        experiments = table.members[table.starts[s] : table.starts[s + 1]]
        n_kinds = rows.ends[s] - rows.starts[s]
        for k in range(n_kinds):
            masks[k] = rows.masks[rows.starts[s] + k]
        for k in range(n_kinds):
            change, moved = np.int64(-1), False
            while True:
                at = _place_of(rows, s, masks[k])
                if at >= 0 and _is_allowed(arrays, rows, s, at, change, objective):
                    _change(rows, s, at, change)
                    after = total + _try(arrays, rows, mixes, np.int64(s), experiments, objective, scratch)
                    worse = _slope(
                        objective, total, after, len(table.experiments), change * size_of(masks[k])
                    )
                    if worse < 0 or (worse == 0 and change < 0):
                        total, moved = after, True
                        for j in range(len(experiments)):
                            errors[experiments[j]] = scratch.trial[j]
                        continue
                    _undo(rows, s, at, masks[k], change)
                    prepare_place(arrays, rows, np.int64(0), np.int64(s))
                if moved or change > 0:
                    break
                change = np.int64(1)
    return total


@compiled_in_place
def _slope(objective: ClimbObjective, before: Number, after: Number, n: Number, ports: Number) -> Number:
    """The change of the weighted sum of the mean error and the number of ports."""
    worse = objective.error_slope * (after * objective.unit / n - before * objective.unit / n)
    worse += objective.volume_slope * ports
    return worse


@compiled_in_place
def _try(
    arrays: EvaluationArrays,
    rows: Rows,
    mixes: Mixes,
    scheme: Number,
    experiments: Integers,
    objective: ClimbObjective,
    scratch: ClimbScratch,
) -> Number:
    """Write the errors of a changed scheme's experiments into `trial`; returns the change of their sum."""
    prepare_place(arrays, rows, np.int64(0), scheme)
    change = refresh(
        arrays,
        rows,
        mixes,
        experiments,
        objective.measured,
        objective.loss,
        objective.largest,
        scratch.cycles,
        scratch.trial,
    )
    for j in range(len(experiments)):
        change -= scratch.errors[experiments[j]]
    return change


@compiled_in_place
def _place_of(rows: Rows, scheme: Number, mask: Number) -> Number:
    for at in range(rows.starts[scheme], rows.ends[scheme]):
        if rows.masks[at] == mask:
            return at
    return -1


@compiled_in_place
def _is_allowed(
    arrays: EvaluationArrays,
    rows: Rows,
    scheme: Number,
    at: Number,
    change: Number,
    objective: ClimbObjective,
) -> bool:
    if change > 0:
        return bool(arrays.mass[scheme] < objective.most_uops)
    last = rows.ends[scheme] - rows.starts[scheme] == 1 and rows.counts[at] == 1
    return not (bool(last) and bool(objective.keeps_last))


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
