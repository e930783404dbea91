"""The surroundings of a scheme in its experiments, to which candidates for its µops are added.

Importing this module loads numba. The other schemes of an experiment are laid out as the unions of their port
sets, each with the µops inside it.
"""

from __future__ import annotations

from inference.core.compiling import compiled_in_place
from inference.core.kernels.densest import size_of
from inference.core.pmevo.refit.kernel_arrays import Number, RefitMixes, RefitRows, RefitSurroundings
from inference.core.tables import Floats, Integers

MAX_UNIONS = 1024
"""Unions of one experiment's port sets at most; on nine ports there are at most half as many."""


@compiled_in_place
def gather(mixes: RefitMixes, rows: RefitRows, scheme: int, around: RefitSurroundings) -> Number:
    """Lay out the surroundings of one scheme; returns the number of its experiments, −1 for too little room.

    Long experiments of many kinds, with more than `MAX_UNIONS` unions, are skipped: they would take longer
    than all others, and show less about a scheme.
    """
    at = n = 0
    for i in range(mixes.starts[scheme], mixes.starts[scheme + 1]):
        e = mixes.of_scheme[i]
        n_kinds = _gather_other_kinds(mixes, rows, scheme, e, n, around)
        start = at
        room = min(len(around.unions), start + MAX_UNIONS)
        if start == room:
            return -1
        around.unions[start], around.masses[start] = 0, 0.0
        at += 1
        for k in range(n_kinds):
            at = _grow(around.unions, around.masses, start, at, room, around.kinds[k], around.amounts[k])
            if at < 0:
                break
        if at < 0:
            if room < start + MAX_UNIONS:
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
def _gather_other_kinds(
    mixes: RefitMixes, rows: RefitRows, scheme: int, e: int, i: int, around: RefitSurroundings
) -> Number:
    """Collect the kinds of µops of experiment e without one scheme; returns their number."""
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
            continue  # it was there before, and contains these µops
        if place < fresh:
            masses[place] = max(masses[place], masses[i] + amount)
            continue
        if fresh == room:
            return -1
        unions[fresh], masses[fresh] = grown, masses[i] + amount
        fresh += 1
    return fresh
