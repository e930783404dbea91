"""The compiled loops of the exact re-fit: every plausible set of µops of one scheme, everything else fixed.

Importing this module loads numba. What the other schemes of an experiment contribute is laid out once as the
unions of their port sets (`gather`). The inverse throughput with candidate µops is then the densest of those
unions, each alone and together with each union of the candidate's own port sets (thesis Thm 5.2 over µops):
exact, for any number of ports. A candidate is given up as soon as its errors exceed those of the best so far.
Where issue slots count, a candidate is a set of µops with a number of slots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from inference.core.arrays import Floats, Integers
from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import size_of
from inference.core.kernels.loops import loss_of
from inference.core.loss import Loss
from inference.core.pmevo.refit.objective import Objective, Prices

Number = Any

MOST_UNIONS = 1024
"""Unions of one experiment's port sets that are looked at; on nine ports there are at most half as many."""

_MOST_ROUNDS = 3  # of improving the best candidate by neighbours
_MOST_PAIRED = 6  # executions of a µop in pairs, beside those that fill the scheme's own time
_NEARBY_SLOTS = 3  # by which a number of slots changes at once
_SLACK = 1.1  # a scheme may take this much longer than measured, in whole µops besides
_SMALLER = 1e-12  # what rounding can make of equal objectives


class RefitMixes(NamedTuple):
    """All experiments: compressed rows of scheme numbers and repeats; `floor` and `measured` in cycles.

    `of_scheme[starts[s]:starts[s + 1]]` are the experiments that contain scheme s.
    """

    offsets: Integers
    scheme: Integers
    repeats: Integers
    floor: Floats
    measured: Floats
    starts: Integers
    of_scheme: Integers


class RefitRows(NamedTuple):
    """A mapping: `masks` and `counts` [n_schemes, MOST_KINDS], of which the first `sizes[s]` are in use.

    `slots` [n_schemes]: issue slots.
    """

    masks: Integers
    counts: Integers
    sizes: Integers
    slots: Integers


class Used(NamedTuple):
    """The kinds of µops that other schemes use, ascending, and how rare each is: see `Usage.used_beside`."""

    kinds: Integers
    rarity: Floats
    rarest: float


class RefitSurroundings(NamedTuple):
    """What the experiments of one scheme hold beside it: unions of port sets with the µops inside each.

    `ends[i]`: where the unions of the i-th experiment end; the empty union comes first. `alone`: cycles
    without the scheme; `beside`: issue slots without it; `repeats`, `measured`: of the scheme, of the
    experiment. The rest is scratch; `best_slots` has one number, the slots that go with `best`.
    """

    unions: Integers
    masses: Floats
    ends: Integers
    alone: Floats
    beside: Floats
    repeats: Floats
    measured: Floats
    kinds: Integers
    amounts: Floats
    widths: Floats  # 1 / number of ports
    tried: Integers
    tried_counts: Floats
    joint: Integers
    joint_counts: Floats
    best: Integers
    best_counts: Floats
    best_slots: Integers
    held: Integers
    held_counts: Floats


@compiled_in_place
def gather(mixes: RefitMixes, rows: RefitRows, scheme: int, around: RefitSurroundings) -> Number:
    """Lay out the surroundings of one scheme; the number of its experiments, or −1 for too little room.

    Long experiments of many kinds, with more unions than `MOST_UNIONS`, are not among them: they would take
    longer than all others, and say less.
    """
    at = n = 0
    for i in range(mixes.starts[scheme], mixes.starts[scheme + 1]):
        e = mixes.of_scheme[i]
        n_kinds = _others(mixes, rows, scheme, e, n, around)
        start = at
        room = min(len(around.unions), start + MOST_UNIONS)
        if start == room:
            return -1
        around.unions[start], around.masses[start] = 0, 0.0
        at += 1
        for k in range(n_kinds):
            at = _grow(around.unions, around.masses, start, at, room, around.kinds[k], around.amounts[k])
            if at < 0:
                break
        if at < 0:
            if room < start + MOST_UNIONS:
                return -1
            at = start
            continue
        slowest = mixes.floor[e]
        for u in range(start + 1, at):
            slowest = max(slowest, around.masses[u] * around.widths[size_of(around.unions[u])])
        around.ends[n] = at
        around.alone[n] = slowest
        around.measured[n] = mixes.measured[e]
        n += 1
    return n


@compiled_in_place
def _others(
    mixes: RefitMixes, rows: RefitRows, scheme: int, e: int, i: int, around: RefitSurroundings
) -> Number:
    """The kinds of µops of experiment e without one scheme, whose repeats are noted; returns how many."""
    n = 0
    around.beside[i] = 0
    for t in range(mixes.offsets[e], mixes.offsets[e + 1]):
        other = mixes.scheme[t]
        if other == scheme:
            around.repeats[i] = mixes.repeats[t]
            continue
        around.beside[i] += rows.slots[other] * mixes.repeats[t]
        for j in range(rows.sizes[other]):
            mask = rows.masks[other, j]
            k = 0
            while k < n and around.kinds[k] != mask:
                k += 1
            if k == n:
                around.kinds[n], around.amounts[n] = mask, 0.0
                n += 1
            around.amounts[k] += rows.counts[other, j] * mixes.repeats[t]
    return n


@compiled_in_place
def _grow(
    unions: Integers, masses: Floats, start: int, end: int, room: int, kind: Number, amount: Number
) -> Number:
    """Add a kind of µop to the unions at [start, end); the new end, or −1 where that is beyond `room`."""
    fresh = end
    for i in range(start, end):
        grown = unions[i] | kind
        if grown == unions[i]:
            masses[i] += amount
            continue
        place = start
        while place < fresh and unions[place] != grown:
            place += 1
        if place < end:
            continue  # it was there before, and holds what arises here
        if place < fresh:
            masses[place] = max(masses[place], masses[i] + amount)
            continue
        if fresh == room:
            return -1
        unions[fresh], masses[fresh] = grown, masses[i] + amount
        fresh += 1
    return fresh


@compiled_in_place
def losses(cycles: Floats, measured: Floats, loss: Loss) -> Number:
    """The sum of what all predictions cost."""
    total = 0.0
    for i in range(len(cycles)):
        total += loss_of(cycles[i], measured[i], loss)
    return total


@compiled_in_place
def _errors(
    around: RefitSurroundings, n: int, n_kinds: int, slots: Number, objective: Objective, limit: Number
) -> Number:
    """Sum of the losses with the µops in `tried`; anything from `limit` on where it exceeds that."""
    joint, joint_counts = around.joint, around.joint_counts
    n_joint = (1 << n_kinds) - 1
    for chosen in range(n_joint):
        mask, count = 0, 0.0
        for k in range(n_kinds):
            if (chosen + 1) >> k & 1:
                mask |= around.tried[k]
                count += around.tried_counts[k]
        joint[chosen], joint_counts[chosen] = mask, count
    total = 0.0
    start = 0
    for i in range(n):
        cycles = max(around.alone[i], (around.beside[i] + slots * around.repeats[i]) * objective.per_slot)
        end = around.ends[i]
        for j in range(n_joint):
            mask, more = joint[j], joint_counts[j] * around.repeats[i]
            for u in range(np.uint64(start), np.uint64(end)):
                value = (around.masses[u] + more) * around.widths[np.uint64(size_of(around.unions[u] | mask))]
                cycles = value if value > cycles else cycles
        total += loss_of(cycles, around.measured[i], objective.loss)
        if total >= limit:
            return total
        start = end
    return total


@compiled_in_place
def _price(around: RefitSurroundings, n_kinds: int, slots: Number, used: Used, prices: Prices) -> Number:
    """What the µops in `tried` and the slots cost; `used`: what other schemes use."""
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
def _place_of(ascending: Integers, wanted: Number) -> Number:
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ascending) and ascending[low] == wanted else -1


@compiled_in_place
def _consider(
    around: RefitSurroundings,
    n: int,
    n_kinds: int,
    slots: Number,
    used: Used,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    """Compare what is in `tried` with the best so far, and keep the better; (objective, kinds) of that."""
    price = _price(around, n_kinds, slots, used, prices)
    if price >= best:
        return best, n_best
    value = _errors(around, n, n_kinds, slots, objective, best - price) + price
    if value >= best - _SMALLER:
        return best, n_best
    for k in range(n_kinds):
        around.best[k], around.best_counts[k] = around.tried[k], around.tried_counts[k]
    around.best_slots[0] = slots
    return value, n_kinds


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
    used: Used,
    objective: Objective,
    prices: Prices,
    keep: bool,
) -> tuple[float, float]:
    """Give a scheme the best µops that are found; (objective before, objective after).

    `n` and `around` as `gather` left them. `time`: cycles of the scheme alone. Tried are one µop kind out of
    `alone`, two out of `pool`, and then what becomes of the best by dropping one kind, by putting one of
    `moves` in its place, by adding one, or by more or fewer slots, as long as that helps. `keep`: the µops
    that it has are a candidate too. The row stays as it is where nothing was found.
    """
    slots = rows.slots[scheme]
    for k in range(rows.sizes[scheme]):
        around.tried[k], around.tried_counts[k] = rows.masks[scheme, k], rows.counts[scheme, k]
    before = _errors(around, n, rows.sizes[scheme], slots, objective, np.inf)
    before += _price(around, rows.sizes[scheme], slots, used, prices)
    best, n_best = np.inf, -1
    around.best_slots[0] = slots
    if keep:
        best, n_best = before, rows.sizes[scheme]
        for k in range(n_best):
            around.best[k], around.best_counts[k] = around.tried[k], around.tried_counts[k]
    best, n_best = _one_kind(around, n, slots, time, alone, used, objective, prices, best, n_best)
    best, n_best = _two_kinds(around, n, slots, time, pool, used, objective, prices, best, n_best)
    if objective.per_slot > 0:
        best, n_best = _other_slots(around, n, time, used, objective, prices, best, n_best)
    for nearby in range(_MOST_ROUNDS):
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
def _one_kind(
    around: RefitSurroundings,
    n: int,
    slots: Number,
    time: float,
    alone: Integers,
    used: Used,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    for mask in alone:
        around.tried[0] = mask
        fill = int(time * size_of(mask))
        for count in range(max(1, fill - 1), fill + 3):
            around.tried_counts[0] = count
            best, n_best = _consider(around, n, 1, slots, used, objective, prices, best, n_best)
    return best, n_best


@compiled_in_place
def _two_kinds(
    around: RefitSurroundings,
    n: int,
    slots: Number,
    time: float,
    pool: Integers,
    used: Used,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
) -> tuple[Number, Number]:
    for a in range(len(pool)):
        most_a = _most(time, pool[a])
        for b in range(a + 1, len(pool)):
            most_b, together = _most(time, pool[b]), _most(time, pool[a] | pool[b])
            around.tried[0], around.tried[1] = pool[a], pool[b]
            for i in range(min(most_a, _MOST_PAIRED + 2)):
                count_a = _paired(i, most_a)
                for j in range(min(most_b, _MOST_PAIRED + 2)):
                    count_b = _paired(j, most_b)
                    if count_a + count_b > together:
                        continue
                    around.tried_counts[0], around.tried_counts[1] = count_a, count_b
                    best, n_best = _consider(around, n, 2, slots, used, objective, prices, best, n_best)
    return best, n_best


@compiled_in_place
def _most(time: Number, mask: Number) -> Number:
    """How many µops a scheme of this time can have on these ports, with some slack."""
    return np.int64(time * size_of(mask) * _SLACK) + 1


@compiled_in_place
def _paired(i: int, most: int) -> Number:
    """The i-th count to try: 1, 2, … and the two largest, which fill the scheme's time."""
    return i + 1 if i < _MOST_PAIRED else most - (i - _MOST_PAIRED)


@compiled_in_place
def _other_slots(
    around: RefitSurroundings,
    n: int,
    time: float,
    used: Used,
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
    most = np.int64(time / objective.per_slot * _SLACK) + 1
    now = around.best_slots[0]
    for slots in range(max(1, now - _NEARBY_SLOTS), min(most, now + _NEARBY_SLOTS) + 1):
        if slots != now:
            best, n_best = _consider(around, n, n_best, slots, used, objective, prices, best, n_best)
    return best, n_best


@compiled_in_place
def _neighbours(  # noqa: PLR0912 one loop nest, which compiled code does not split
    around: RefitSurroundings,
    n: int,
    time: float,
    moves: Integers,
    used: Used,
    objective: Objective,
    prices: Prices,
    best: Number,
    n_best: Number,
    nearby: bool,
) -> tuple[Number, Number]:
    """Improve the best by one kind; with `nearby`, a kind in another's place differs in one port only.

    Where slots count, a kind that is dropped may leave its number of slots behind, and one that is added may
    take some away: wide µops are what slots look like to a search that knows none.
    """
    start, counts, n_start = around.held, around.held_counts, max(0, n_best)
    slots = around.best_slots[0]
    for k in range(n_start):
        start[k], counts[k] = around.best[k], around.best_counts[k]
    for left_out in range(n_start + 1):
        kept = 0
        for k in range(n_start):
            if k != left_out:
                around.tried[kept], around.tried_counts[kept] = start[k], counts[k]
                kept += 1
        adding = left_out == n_start
        if kept == len(around.tried):
            continue
        if not adding and objective.per_slot > 0:
            for more in range(min(int(counts[left_out]), _NEARBY_SLOTS) + 1):
                best, n_best = _consider(around, n, kept, slots + more, used, objective, prices, best, n_best)
        elif kept and not adding:
            best, n_best = _consider(around, n, kept, slots, used, objective, prices, best, n_best)
        for mask in moves:
            if nearby and not adding and size_of(mask ^ start[left_out]) > 1:
                continue
            repeated = False
            for k in range(kept):
                repeated |= around.tried[k] == mask
            if repeated:
                continue
            centre = np.int64(2) if adding else np.int64(counts[left_out])
            around.tried[kept] = mask
            most = np.int64(min(_most(time, mask), centre + 1))
            for count in range(max(1, int(centre) - 1), int(most) + 1):
                around.tried_counts[kept] = count
                best, n_best = _consider(around, n, kept + 1, slots, used, objective, prices, best, n_best)
                if adding and objective.per_slot > 0 and slots > count:
                    best, n_best = _consider(
                        around, n, kept + 1, slots - count, used, objective, prices, best, n_best
                    )
    return best, n_best
