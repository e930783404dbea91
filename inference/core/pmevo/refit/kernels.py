"""The compiled search of a re-fit: every plausible set of µops of one scheme, with all others fixed.

Importing this module loads numba. Where issue slots count, a candidate is a set of µops with a number of
slots.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import size_of
from inference.core.pmevo.refit.candidates import consider, errors_of, price_of
from inference.core.pmevo.refit.kernel_arrays import Number, RefitRows, RefitSurroundings, UsedKinds
from inference.core.pmevo.refit.objective import Objective, Prices
from inference.core.tables import Integers

_MAX_ROUNDS = 3  # rounds of improving the best candidate by neighbours
_MAX_PAIRED = 6  # counts tried for each µop of a pair, besides the two that fill the scheme's time
_NEARBY_SLOTS = 3  # largest change of a number of slots in one step
_SLACK = 1.1  # factor on a scheme's measured time that its µops may fill, rounded up by a µop


@compiled_in_place
def refit(
    around: RefitSurroundings,
    n: int,
    rows: RefitRows,
    scheme: int,
    time: float,
    alone: Integers,
    pool: Integers,
    moves: Integers,
    used: UsedKinds,
    objective: Objective,
    prices: Prices,
    keep: bool,
) -> tuple[float, float]:
    """Give a scheme the best µops found; returns (objective before, objective after).

    Candidates are one µop kind out of `alone`, two out of `pool`, and then changes to the best, as long as
    one lowers the objective: dropping a kind, replacing it by one of `moves`, adding one, or more or fewer
    slots. The row is unchanged where no candidate was found.

    Args:
        around: Surroundings of the scheme from `gather`.
        n: Number of its experiments, from `gather`.
        time: Cycles of the scheme alone.
        keep: Whether its present µops are a candidate, too.
    """
    slots = rows.slots[scheme]
    for k in range(rows.sizes[scheme]):
        around.tried[k], around.tried_counts[k] = rows.masks[scheme, k], rows.counts[scheme, k]
    before = errors_of(around, n, rows.sizes[scheme], slots, objective, np.inf)
    before += price_of(around, rows.sizes[scheme], slots, used, prices)
    best, n_best = np.inf, -1
    around.best_slots[0] = slots
    if keep:
        best, n_best = before, rows.sizes[scheme]
        for k in range(n_best):
            around.best[k], around.best_counts[k] = around.tried[k], around.tried_counts[k]
    best, n_best = _single_kind(around, n, slots, time, alone, used, objective, prices, best, n_best)
    best, n_best = _kind_pairs(around, n, slots, time, pool, used, objective, prices, best, n_best)
    if objective.per_slot > 0:
        best, n_best = _other_slots(around, n, time, used, objective, prices, best, n_best)
    for nearby in range(_MAX_ROUNDS):
        value, n_best = _neighbours(around, n, time, moves, used, objective, prices, best, n_best, nearby > 0)
        if objective.per_slot > 0:
            value, n_best = _other_slots(around, n, time, used, objective, prices, value, n_best)
        if value >= best:
            break
        best = value
    if n_best < 0:
        return before, before
    for k in range(n_best):
        mask, count = around.best[k], np.int64(around.best_counts[k])
        place = k
        while place > 0 and rows.masks[scheme, place - 1] > mask:
            rows.masks[scheme, place] = rows.masks[scheme, place - 1]
            rows.counts[scheme, place] = rows.counts[scheme, place - 1]
            place -= 1
        rows.masks[scheme, place], rows.counts[scheme, place] = mask, count
    rows.sizes[scheme] = n_best
    rows.slots[scheme] = around.best_slots[0]
    return before, best


@compiled_in_place
def _single_kind(
    around: RefitSurroundings,
    n: int,
    slots: Number,
    time: float,
    alone: Integers,
    used: UsedKinds,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    """Improve the best by a single kind, as many of it as fill the scheme's time or nearly so."""
    for mask in alone:
        around.tried[0] = mask
        fill = int(time * size_of(mask))  # µops that these ports execute in that time
        for count in range(max(1, fill - 1), fill + 3):
            around.tried_counts[0] = count
            best, n_best = consider(around, n, 1, slots, used, objective, prices, best, n_best)
    return best, n_best


@compiled_in_place
def _kind_pairs(
    around: RefitSurroundings,
    n: int,
    slots: Number,
    time: float,
    pool: Integers,
    used: UsedKinds,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    """Improve the best by two kinds; both together must fit into the scheme's time on the ports of both."""
    for a in range(len(pool)):
        most_a = _most(time, pool[a])
        for b in range(a + 1, len(pool)):
            most_b, together = _most(time, pool[b]), _most(time, pool[a] | pool[b])
            around.tried[0], around.tried[1] = pool[a], pool[b]
            for i in range(min(most_a, _MAX_PAIRED + 2)):
                count_a = _paired_count(i, most_a)
                for j in range(min(most_b, _MAX_PAIRED + 2)):
                    count_b = _paired_count(j, most_b)
                    if count_a + count_b > together:
                        continue
                    around.tried_counts[0], around.tried_counts[1] = count_a, count_b
                    best, n_best = consider(around, n, 2, slots, used, objective, prices, best, n_best)
    return best, n_best


@compiled_in_place
def _most(time: Number, mask: Number) -> Number:
    """Largest number of µops on these ports for a scheme of this time, with some slack."""
    return np.int64(time * size_of(mask) * _SLACK) + 1


@compiled_in_place
def _paired_count(i: int, limit: int) -> Number:
    """The i-th count to try: 1, 2, … and the two largest, which fill the scheme's time."""
    return i + 1 if i < _MAX_PAIRED else limit - (i - _MAX_PAIRED)


@compiled_in_place
def _other_slots(
    around: RefitSurroundings,
    n: int,
    time: float,
    used: UsedKinds,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    """Improve the best by its number of slots, up to what fills the scheme's time."""
    if n_best < 0:
        return best, n_best
    for k in range(n_best):
        around.tried[k], around.tried_counts[k] = around.best[k], around.best_counts[k]
    max_slots = np.int64(time / objective.per_slot * _SLACK) + 1
    now = around.best_slots[0]
    for slots in range(max(1, now - _NEARBY_SLOTS), min(max_slots, now + _NEARBY_SLOTS) + 1):
        if slots != now:
            best, n_best = consider(around, n, n_best, slots, used, objective, prices, best, n_best)
    return best, n_best


@compiled_in_place
def _neighbours(  # noqa: PLR0912 one loop nest, which compiled code does not split
    around: RefitSurroundings,
    n: int,
    time: float,
    moves: Integers,
    used: UsedKinds,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
    nearby: bool,
) -> tuple[Number, Number]:
    """Improve the best by one kind; with `nearby`, a kind is replaced only by one that differs in one port.

    Where slots count, a dropped kind may leave slots behind, and an added one may take some: a search without
    slots explains them by wide µops.
    """
    start, counts, n_start = around.start_masks, around.start_counts, max(0, n_best)
    slots = around.best_slots[0]
    for k in range(n_start):
        start[k], counts[k] = around.best[k], around.best_counts[k]
    for dropped in range(n_start + 1):
        size = 0
        for k in range(n_start):
            if k != dropped:
                around.tried[size], around.tried_counts[size] = start[k], counts[k]
                size += 1
        adding = dropped == n_start
        if size == len(around.tried):
            continue
        if not adding and objective.per_slot > 0:
            for extra in range(min(int(counts[dropped]), _NEARBY_SLOTS) + 1):
                best, n_best = consider(around, n, size, slots + extra, used, objective, prices, best, n_best)
        elif size and not adding:
            best, n_best = consider(around, n, size, slots, used, objective, prices, best, n_best)
        for mask in moves:
            if nearby and not adding and size_of(mask ^ start[dropped]) > 1:
                continue
            repeated = False
            for k in range(size):
                repeated |= around.tried[k] == mask
            if repeated:
                continue
            centre = np.int64(2) if adding else np.int64(counts[dropped])
            around.tried[size] = mask
            max_count = np.int64(min(_most(time, mask), centre + 1))
            for count in range(max(1, int(centre) - 1), int(max_count) + 1):
                around.tried_counts[size] = count
                best, n_best = consider(around, n, size + 1, slots, used, objective, prices, best, n_best)
                if adding and objective.per_slot > 0 and slots > count:
                    best, n_best = consider(
                        around, n, size + 1, slots - count, used, objective, prices, best, n_best
                    )
    return best, n_best
