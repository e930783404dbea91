"""Compiled evaluation of candidates for the µops of a scheme.

Importing this module loads numba. The inverse throughput with candidate µops is that of the densest union:
each union of the surroundings, alone and with each union of the candidate's own port sets (thesis Thm 5.2
over µops). It is exact for any number of ports. The evaluation of a candidate ends once its errors exceed
those of the best so far.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import size_of
from inference.core.kernels.loops import loss_of
from inference.core.metrics import Loss
from inference.core.pmevo.refit.kernel_arrays import Number, RefitSurroundings, UsedKinds
from inference.core.pmevo.refit.objective import Objective, Prices
from inference.core.tables import Floats, Integers

_SMALLER = 1e-12  # differences of equal objectives by rounding


@compiled_in_place
def losses(cycles: Floats, measured: Floats, loss: Loss) -> Number:
    total = 0.0
    for i in range(len(cycles)):
        total += loss_of(cycles[i], measured[i], loss)
    return total


@compiled_in_place
def errors_of(
    around: RefitSurroundings, n: int, n_kinds: int, slots: Number, objective: Objective, limit: Number
) -> Number:
    """Sum of the losses with the µops in `around.tried`.

    Args:
        around: The surroundings of the scheme.
        n: Number of its experiments.
        n_kinds: Number of kinds of µops in `tried`.
        slots: Issue slots of the scheme.
        objective: The loss, and the limits outside the ports.
        limit: The sum stops once it reaches this; some value from `limit` on is returned then.
    """
    joint, joint_counts = around.joint, around.joint_counts
    n_joint = (1 << n_kinds) - 1
    for joint_choice in range(n_joint):
        mask, count = 0, 0.0
        for k in range(n_kinds):
            if (joint_choice + 1) >> k & 1:
                mask |= around.tried[k]
                count += around.tried_counts[k]
        joint[joint_choice], joint_counts[joint_choice] = mask, count
    total = 0.0
    start = 0
    for i in range(n):
        cycles = max(around.alone[i], (around.beside[i] + slots * around.repeats[i]) * objective.per_slot)
        end = around.ends[i]
        for j in range(n_joint):
            mask, extra = joint[j], joint_counts[j] * around.repeats[i]
            for u in range(np.uint64(start), np.uint64(end)):
                value = (around.masses[u] + extra) * around.widths[
                    np.uint64(size_of(around.unions[u] | mask))
                ]
                cycles = value if value > cycles else cycles
        total += loss_of(cycles, around.measured[i], objective.loss)
        if total >= limit:
            return total
        start = end
    return total


@compiled_in_place
def price_of(
    around: RefitSurroundings, n_kinds: int, slots: Number, used: UsedKinds, prices: Prices
) -> Number:
    """Price of the µops in `around.tried` and of the slots, in units of the objective.

    Args:
        around: The surroundings of the scheme.
        n_kinds: Number of kinds of µops in `tried`.
        slots: Issue slots of the scheme.
        used: Kinds that other schemes use.
        prices: Prices of kinds, µops and slots.
    """
    total = prices.slot * slots
    if n_kinds == 0:
        total += prices.none
    for k in range(n_kinds):
        mask = around.tried[k]
        total += (prices.volume * size_of(mask) + prices.uop) * around.tried_counts[k]
        place = _place_of(used.kinds, mask)
        if place < 0:
            total += prices.kind + prices.rare * used.rarest
        else:
            total += prices.rare * used.rarity[place]
    return total


@compiled_in_place
def _place_of(ascending: Integers, target: Number) -> Number:
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ascending) and ascending[low] == target else -1


@compiled_in_place
def consider(
    around: RefitSurroundings,
    n: int,
    n_kinds: int,
    slots: Number,
    used: UsedKinds,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    """Compare the µops in `around.tried` with the best so far, and keep the better.

    Args:
        around: The surroundings of the scheme; `around.best` is overwritten by a better candidate.
        n: Number of its experiments.
        n_kinds: Number of kinds of µops in `tried`.
        slots: Issue slots of the candidate.
        used: Kinds that other schemes use.
        objective: The loss, and the limits outside the ports.
        prices: Prices of kinds, µops and slots.
        best: Objective of the best so far.
        n_best: Number of its kinds.

    Returns:
        Objective and number of kinds of the better one.
    """
    price = price_of(around, n_kinds, slots, used, prices)
    if price >= best:
        return best, n_best
    value = errors_of(around, n, n_kinds, slots, objective, best - price) + price
    if value >= best - _SMALLER:
        return best, n_best
    for k in range(n_kinds):
        around.best[k], around.best_counts[k] = around.tried[k], around.tried_counts[k]
    around.best_slots[0] = slots
    return value, n_kinds
