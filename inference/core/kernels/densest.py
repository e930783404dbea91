"""The inverse throughput of one experiment: the densest set of ports (thesis Thm 5.2), by the quickest
method.

All methods are exact and end in one division of integers:

- one scheme: the prepared value;
- two schemes: every union of the one with every union of the other, where both have few;
- few ports: tables of the µops bound to each set of ports add up over the mix, since being bound is linear;
- many ports: branch and bound over unions of occurring port sets; where it holds too many, maximum flow
  (`inference.core.throughput` says why that is right): polynomial whatever the port sets look like.
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled_in_place, inlined
from inference.core.kernels.layout import (
    LISTED,
    MAX_CROSSED,
    MAX_IN_ROW,
    MAX_IN_SUM,
    MAX_LIVE,
    PORTS,
    EvaluationArrays,
    Number,
    Rows,
)
from inference.core.kernels.tables import added_tables, ensure_table, repeated_tables, two_tables
from inference.core.tables import Integers

# Measured costs in multiples of one pair of unions in `_cycles_of_unions`; only speed depends on them.
_TABLE_COST = 1 / 48  # per table column and scheme
_BOUNDING_COST = 60  # per kind of µop in `densest_union`


@inlined
def size_of(ports: Number) -> Number:
    """The number of ports in a set; the compiler emits one instruction for this."""
    bits = np.uint64(ports)
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def cycles_alone(arrays: EvaluationArrays, place: Number, repeats: Number) -> Number:
    """Cycles of `repeats` executions of one scheme."""
    return (repeats * arrays.alone_mass[place]) / arrays.alone_width[place]


@inlined
def cycles_of_two(
    arrays: EvaluationArrays, rows: Rows, base: Number, a: Number, times_a: Number, b: Number, times_b: Number
) -> Number:
    """Cycles of `times_a` executions of the scheme at place a with `times_b` of that at b, a ≠ b."""
    listed_a, listed_b = arrays.listed[a], arrays.listed[b]
    mass = times_a * arrays.mass[a] + times_b * arrays.mass[b]
    if listed_a >= 0 and listed_b >= 0 and listed_a * listed_b <= arrays.cross_limit and mass <= MAX_CROSSED:
        if times_b == 1 and (times_a > 1 or listed_a <= listed_b):
            return _cycles_of_unions(arrays, a, times_a, b)
        if times_a == 1:
            return _cycles_of_unions(arrays, b, times_b, a)
    kinds = arrays.n_kinds[a] + arrays.n_kinds[b]
    heaviest = max(arrays.mass[a], arrays.mass[b])
    if heaviest <= MAX_IN_ROW and _tables_pay(arrays, np.int64(2), kinds, mass):
        ensure_table(arrays, rows, base, a)
        ensure_table(arrays, rows, base, b)
        return two_tables(arrays, a, times_a, b, times_b)
    n = gather_row(arrays, rows, base + a, times_a, np.int64(0))
    return _densest(arrays, gather_row(arrays, rows, base + b, times_b, n))


@inlined
def cycles_of_many(
    arrays: EvaluationArrays,
    rows: Rows,
    base: Number,
    places: Integers,
    at: Number,
    repeats: Integers,
    first: Number,
    n_terms: Number,
) -> Number:
    """Cycles of an experiment of three or more schemes.

    Args:
        arrays: Scratch in which these places have been prepared.
        rows: µops of all schemes.
        base: Row of place 0.
        places: Places of schemes; those of the experiment begin at `at`.
        at: Index of the first scheme in `places`.
        repeats: Multiplicities; those of the experiment begin at `first`.
        first: Index of the first multiplicity in `repeats`.
        n_terms: Number of schemes.
    """
    kinds = mass = heaviest = np.int64(0)
    highest, filled = np.int64(1), True
    for t in range(n_terms):
        place, times = np.uint64(places[at + t]), np.int64(repeats[first + t])
        kinds += arrays.n_kinds[place]
        mass += arrays.mass[place] * times
        heaviest = max(heaviest, arrays.mass[place])
        highest = max(highest, times)
        filled &= arrays.filled[place] != 0
    if heaviest <= MAX_IN_ROW and _tables_pay(arrays, n_terms, kinds, mass):
        if not filled:
            for t in range(n_terms):
                ensure_table(arrays, rows, base, np.int64(places[at + t]))
        if highest == 1 and mass <= MAX_IN_ROW:
            return added_tables(arrays, places, at, n_terms)
        return repeated_tables(arrays, places, at, repeats, first, n_terms)
    n = np.int64(0)
    for t in range(n_terms):
        n = gather_row(arrays, rows, base + np.int64(places[at + t]), np.int64(repeats[first + t]), n)
    return _densest(arrays, n)


@inlined
def _tables_pay(arrays: EvaluationArrays, n_terms: Number, kinds: Number, mass: Number) -> Number:
    """Whether there are tables, wide enough for this many µops, and quicker than branch and bound."""
    return 0 < n_terms * _TABLE_COST * arrays.columns.size <= _BOUNDING_COST * kinds and mass <= MAX_IN_SUM


@inlined
def _densest(arrays: EvaluationArrays, n: Number) -> Number:
    """Cycles of the first n kinds of `arrays.kinds`."""
    mass, width = densest_union(
        arrays.kinds, arrays.amounts, n, arrays.live, arrays.live_mass, arrays.placed, arrays.ports
    )
    return mass / width


@inlined
def _cycles_of_unions(arrays: EvaluationArrays, a: Number, times_a: Number, b: Number) -> Number:
    """Cycles from all unions of place a with all unions of place b, which has one execution.

    Mass by ports is compared as mass times a whole number, `weights[ports]` = `scale` / ports: a division
    takes longer than everything else here. Whole numbers below 2^53 are exact as floats, whose maximum is one
    instruction when written so. Two rows of the cross at a time keep the processor busy.
    """
    unions, masses, weights = arrays.unions, arrays.masses, arrays.weights
    best = times_a * arrays.alone_mass[a] * weights[np.uint64(arrays.alone_width[a])]
    other = arrays.alone_mass[b] * weights[np.uint64(arrays.alone_width[b])]
    # Unsigned indices: the compiler need not provide for counting from the end.
    i, start = np.uint64(a * LISTED), np.uint64(b * LISTED)
    end_a, end = i + np.uint64(arrays.listed[a]), start + np.uint64(arrays.listed[b])
    while i + np.uint64(1) < end_a:
        union, next_union = unions[i], unions[i + np.uint64(1)]
        mass, next_mass = masses[i] * times_a, masses[i + np.uint64(1)] * times_a
        j = start
        while j < end:
            value = (mass + masses[j]) * weights[np.uint64(size_of(union | unions[j]))]
            best = value if value > best else best
            value = (next_mass + masses[j]) * weights[np.uint64(size_of(next_union | unions[j]))]
            other = value if value > other else other
            j += np.uint64(1)
        i += np.uint64(2)
    if i < end_a:
        union, mass = unions[i], masses[i] * times_a
        j = start
        while j < end:
            value = (mass + masses[j]) * weights[np.uint64(size_of(union | unions[j]))]
            best = value if value > best else best
            j += np.uint64(1)
    return max(best, other) / arrays.scale


@inlined
def gather_row(arrays: EvaluationArrays, rows: Rows, row: Number, repeats: Number, n: Number) -> Number:
    """Add the µops of a row to the first n kinds of `arrays.kinds`; returns how many kinds there are then."""
    kinds, amounts = arrays.kinds, arrays.amounts
    before = np.uint64(n)
    for u in range(rows.starts[row], rows.ends[row]):
        mask, amount = np.uint64(rows.masks[u]), np.int64(rows.counts[u]) * repeats
        k = np.uint64(0)
        while k < before and kinds[k] != mask:
            k += np.uint64(1)
        if k < before:
            amounts[k] += amount
        else:
            kinds[n] = mask
            amounts[n] = amount
            n += 1
    return n


@compiled_in_place
def densest_union(
    kinds: Integers,
    amounts: Integers,
    n: Number,
    live: Integers,
    live_mass: Integers,
    placed: Integers,
    ports: Integers,
) -> Number:
    """The densest union of the first n kinds, as (µops, ports), by branch and bound.

    A union with mass m that can gain at most r more is discarded once (m + r) / size is no denser than the
    best: its size can only grow. The widest kinds come first, so that the remaining narrow ones fit inside.

    Args:
        kinds: Port sets as masks.
        amounts: Number of µops of each kind.
        n: Number of kinds.
        live, live_mass, placed, ports: Scratch of an `EvaluationArrays`.
    """
    _sort_by_width(kinds, amounts, n)
    remaining, best, width = _first_guess(kinds, amounts, n)
    count = 1
    live[0], live_mass[0] = 0, 0
    for k in range(n):
        kind, amount = kinds[np.uint64(k)], amounts[np.uint64(k)]
        remaining -= amount
        n_live, end = 0, count
        for i in range(count):
            union, mass = live[np.uint64(i)], live_mass[np.uint64(i)]
            grown, extra = union | kind, mass + amount
            size = size_of(grown)
            if extra * width > best * size:
                best, width = extra, size
            if grown == union:
                live[np.uint64(n_live)], live_mass[np.uint64(n_live)] = union, extra
                n_live += 1
                continue
            if (extra + remaining) * width > best * size:
                if end == MAX_LIVE:
                    return densest_by_flow(kinds, amounts, n, best, width, placed, ports)
                live[np.uint64(end)], live_mass[np.uint64(end)] = grown, extra
                end += 1
            if (mass + remaining) * width > best * size_of(union):
                live[np.uint64(n_live)], live_mass[np.uint64(n_live)] = union, mass
                n_live += 1
        for i in range(count, end):
            live[np.uint64(n_live)], live_mass[np.uint64(n_live)] = (
                live[np.uint64(i)],
                live_mass[np.uint64(i)],
            )
            n_live += 1
        count = n_live
    return best, width


@inlined
def _sort_by_width(kinds: Integers, amounts: Integers, n: Number) -> None:
    for i in range(1, n):
        kind, amount = kinds[i], amounts[i]
        size = size_of(kind)
        j = i
        while j > 0 and size_of(kinds[j - 1]) < size:
            kinds[j], amounts[j] = kinds[j - 1], amounts[j - 1]
            j -= 1
        kinds[j], amounts[j] = kind, amount


@inlined
def _first_guess(kinds: Integers, amounts: Integers, n: Number) -> tuple[Number, Number, Number]:
    """(number of µops, µops, ports): the last two of the densest among all ports and the kinds' port sets."""
    total, everywhere = np.int64(0), np.uint64(0)
    for k in range(n):
        total += amounts[np.uint64(k)]
        everywhere |= kinds[np.uint64(k)]
    best, width = total, max(size_of(everywhere), np.int64(1))
    for k in range(n):
        ports = kinds[np.uint64(k)]
        inside = np.int64(0)
        for j in range(n):
            if kinds[np.uint64(j)] & ~ports == 0:
                inside += amounts[np.uint64(j)]
        size = size_of(ports)
        if inside * width > best * size:
            best, width = inside, size
    return total, best, width


@compiled_in_place
def densest_by_flow(
    kinds: Integers,
    amounts: Integers,
    n: Number,
    mass: Number,
    width: Number,
    placed: Integers,
    ports: Integers,
) -> tuple[Number, Number]:
    """The densest set of the first n kinds as (µops, ports), by Dinkelbach's iteration.

    With ports of capacity `mass` and µops of size `width`, µops that do not fit are confined to ports that
    are denser than the guess.

    Args:
        kinds: Port sets as masks.
        amounts: Number of µops of each kind.
        n: Number of kinds.
        mass: First guess: number of µops.
        width: First guess: number of ports that they need.
        placed: Scratch, int64[≥ n, PORTS].
        ports: Scratch, int64[4, PORTS].
    """
    while True:
        overfull = _pack(kinds, amounts, n, mass, width, placed, ports)
        if overfull == 0:
            return mass, width
        mass, width = np.int64(0), np.int64(0)
        for k in range(n):
            if kinds[k] & ~overfull == 0:
                mass += amounts[k]
        for port in range(PORTS):
            width += np.int64((overfull >> np.uint64(port)) & np.uint64(1))


@compiled_in_place
def _pack(
    kinds: Integers,
    amounts: Integers,
    n: Number,
    capacity: Number,
    size: Number,
    placed: Integers,
    ports: Integers,
) -> Number:
    """Put `size` units of each µop on ports of `capacity` units; returns the mask of overfull ports."""
    load = ports[0]
    through = ports[1]  # the kind that would push its units onto a port
    source = ports[2]  # the port that they would leave, -1 for units not placed yet
    queue = ports[3]
    placed[:n] = 0
    load[:] = 0
    overfull = np.uint64(0)
    for kind in range(n):
        remaining = amounts[kind] * size
        while remaining:
            end, reached = _path_to_room(kinds, n, kind, capacity, placed, load, through, source, queue)
            if end < 0:
                overfull |= reached
                break
            moved = min(remaining, capacity - load[end])
            port = end
            while source[port] >= 0:
                moved = min(moved, placed[through[port], source[port]])
                port = source[port]
            load[end] += moved
            port = end
            while port >= 0:
                placed[through[port], port] += moved
                if source[port] >= 0:
                    placed[through[port], source[port]] -= moved
                port = source[port]
            remaining -= moved
    return overfull


@compiled_in_place
def _path_to_room(
    kinds: Integers,
    n: Number,
    start: Number,
    capacity: Number,
    placed: Integers,
    load: Integers,
    through: Integers,
    source: Integers,
    queue: Integers,
) -> tuple[Number, Number]:
    """Breadth-first search for a port with room, -1 for none; and the mask of reached ports."""
    reached = np.uint64(0)
    head, tail = 0, 0
    pusher, origin = start, -1
    while True:
        for port in range(PORTS):
            bit = np.uint64(1) << np.uint64(port)
            if kinds[pusher] & bit and not reached & bit:
                reached |= bit
                through[port] = pusher
                source[port] = origin
                if load[port] < capacity:
                    return port, reached
                queue[tail] = port
                tail += 1
        # The next kind that has units on a port in the queue and could move them elsewhere.
        pusher = -1
        while head < tail:
            origin = queue[head]
            for other in range(n):
                if placed[other, origin] and kinds[other] & ~reached:
                    pusher = other
                    break
            if pusher >= 0:
                break
            head += 1
        if pusher < 0:
            return -1, reached
