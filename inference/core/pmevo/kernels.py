"""Compiled loops that make port mappings: random ones, and children of two parents.

Importing this module loads numba. Every mapping or pair of parents has a random stream of its own, seeded by
the caller (`random_bits`), so that the result does not depend on chunks or threads.

Arrays are those of `inference.core.tables.Population`: `offsets` has one row per (mapping, scheme).
"""

from __future__ import annotations

import numpy as np

from inference.core.compiling import compiled
from inference.core.pmevo.random_bits import below, next_bits
from inference.core.tables import Integers

_MAX_COUNT = np.int64(2**31 - 1)  # of one kind of µop: counts are int32 at most


@compiled
def sample(
    seeds: Integers, limits: Integers, n_ports: int, offsets: Integers, masks: Integers, counts: Integers
) -> int:
    """Random mappings (§5.1.3, initialisation), one per seed.

    Each scheme gets 1 to |P| different µops: port sets are uniformly random non-empty ones, counts uniformly
    random from 1 to the limit.

    Args:
        seeds: One per mapping.
        limits: int64[n_schemes, n_ports], the largest count of a µop as wide as the column number + 1.
        n_ports: Number of ports |P|.
        offsets, masks, counts: Result, with room for |P| entries per row.

    Returns:
        The number of entries written.
    """
    n_schemes = limits.shape[0]
    full = (np.int64(1) << np.int64(n_ports)) - np.int64(1)
    max_kinds = min(np.int64(n_ports), full)
    state = np.zeros(1, dtype=np.uint64)
    at = 0
    offsets[0] = 0
    for m in range(len(seeds)):
        state[0] = seeds[m]
        for s in range(n_schemes):
            first = at
            n_kinds = 1 + below(state, max_kinds)
            while at - first < n_kinds:
                mask = np.int64(next_bits(state) & np.uint64(full))
                fresh = mask != 0
                for k in range(first, at):
                    fresh = fresh and masks[k] != mask
                if fresh:
                    width = 0
                    remaining = mask
                    while remaining:
                        remaining &= remaining - np.int64(1)
                        width += 1
                    masks[at] = mask
                    counts[at] = 1 + below(state, limits[s, width - 1])
                    at += 1
            offsets[m * n_schemes + s + 1] = at
    return at


@compiled
def recombine(
    parents: Integers,
    seeds: Integers,
    drop: bool,
    n_schemes: int,
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    child_offsets: Integers,
    child_masks: Integers,
    child_counts: Integers,
) -> int:
    """Two children per pair of parents: for each scheme concatenate, shuffle, split into two non-empty parts.

    The split point is uniform among those that leave both parts non-empty. Children come out sorted by mask,
    pair by pair.

    Args:
        parents: int64[n_pairs, 2], indices of the parents.
        seeds: One per pair.
        drop: Where one part holds the same µop twice, only the first in shuffled order stays; else the counts
            add up.
        n_schemes: Rows per mapping.
        offsets, masks, counts: Rows of the parents; none is empty, so that a concatenation has at least two
            entries.
        child_offsets, child_masks, child_counts: Result, with room for all entries of all parents.

    Returns:
        The number of entries written.
    """
    state = np.zeros(1, dtype=np.uint64)
    longest, room = _most_entries(parents, n_schemes, offsets)
    pool_masks = np.zeros(2 * longest, dtype=np.int64)
    pool_counts = np.zeros(2 * longest, dtype=np.int64)
    # Rows of the second child, until those of the first are written.
    later_masks = np.zeros(room, dtype=np.int64)
    later_counts = np.zeros(room, dtype=np.int64)
    later_offsets = np.zeros(n_schemes + 1, dtype=np.int64)
    at = 0
    child_offsets[0] = 0
    for p in range(len(parents)):
        state[0] = seeds[p]
        later = 0
        for s in range(n_schemes):
            size = 0
            for side in range(2):
                row = parents[p, side] * n_schemes + s
                for k in range(offsets[row], offsets[row + 1]):
                    pool_masks[size] = masks[k]
                    pool_counts[size] = counts[k]
                    size += 1
            _shuffle(state, pool_masks, pool_counts, size)
            split = 1 + below(state, size - 1)
            at = _keep(pool_masks, pool_counts, 0, split, drop, child_masks, child_counts, at)
            child_offsets[2 * p * n_schemes + s + 1] = at
            later = _keep(pool_masks, pool_counts, split, size, drop, later_masks, later_counts, later)
            later_offsets[s + 1] = later
        start = (2 * p + 1) * n_schemes
        for s in range(n_schemes):
            child_offsets[start + s + 1] = at + later_offsets[s + 1]
        for k in range(later):
            child_masks[at + k] = later_masks[k]
            child_counts[at + k] = later_counts[k]
        at += later
    return at


@compiled
def _most_entries(parents: Integers, n_schemes: int, offsets: Integers) -> tuple[int, int]:
    """The longest row of any parent, and the most entries that two parents have together."""
    longest, together = 0, 0
    for p in range(len(parents)):
        entries = 0
        for side in range(2):
            first = parents[p, side] * n_schemes
            entries += offsets[first + n_schemes] - offsets[first]
            for row in range(first, first + n_schemes):
                longest = max(longest, offsets[row + 1] - offsets[row])
        together = max(together, entries)
    return longest, together


@compiled
def _shuffle(state: Integers, masks: Integers, counts: Integers, size: int) -> None:
    """Fisher and Yates's shuffle of the first `size` entries."""
    for k in range(size - 1, 0, -1):
        other = below(state, k + 1)
        masks[k], masks[other] = masks[other], masks[k]
        counts[k], counts[other] = counts[other], counts[k]


@compiled
def _keep(
    pool_masks: Integers,
    pool_counts: Integers,
    first: int,
    last: int,
    drop: bool,
    masks: Integers,
    counts: Integers,
    at: int,
) -> int:
    """Append a part of the pool as one row, sorted by mask, each mask once; returns the new end."""
    start = at
    for k in range(first, last):
        mask, count = pool_masks[k], pool_counts[k]
        place = at
        while place > start and masks[place - 1] > mask:
            place -= 1
        if place > start and masks[place - 1] == mask:
            if not drop:
                counts[place - 1] = min(np.int64(counts[place - 1]) + count, _MAX_COUNT)
            continue
        for j in range(at, place, -1):
            masks[j] = masks[j - 1]
            counts[j] = counts[j - 1]
        masks[place] = mask
        counts[place] = count
        at += 1
    return at


@compiled
def copy_lengths(offsets: Integers, picks: Integers, places: Integers, lengths: Integers) -> None:
    """Into `lengths` int64[n, n_schemes], at `places`: how many entries the rows of picked mappings have."""
    n_schemes = lengths.shape[1]
    for k in range(len(picks)):
        first = picks[k] * n_schemes
        for s in range(n_schemes):
            lengths[places[k], s] = offsets[first + s + 1] - offsets[first + s]


@compiled
def copy_entries(
    offsets: Integers,
    entries: Integers,
    n_schemes: int,
    picks: Integers,
    places: Integers,
    target_offsets: Integers,
    target: Integers,
) -> None:
    """Copy the entries of mappings to rows of another array.

    Args:
        offsets: Where the rows of `entries` begin.
        entries: Masks or counts of all rows.
        n_schemes: Rows per mapping.
        picks: Indices of the mappings to copy.
        places: Their indices in the target.
        target_offsets: Where the rows of `target` begin.
        target: Result.
    """
    for k in range(len(picks)):
        first, last = offsets[picks[k] * n_schemes], offsets[(picks[k] + 1) * n_schemes]
        start = target_offsets[places[k] * n_schemes]
        for j in range(last - first):
            target[start + j] = entries[first + j]


@compiled
def sort_rows(
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    sorted_offsets: Integers,
    sorted_masks: Integers,
    sorted_counts: Integers,
) -> int:
    """Copy all rows sorted by mask, each mask once, its counts added up.

    Args:
        offsets, masks, counts: Rows to copy.
        sorted_offsets, sorted_masks, sorted_counts: Result, with room for as many entries.

    Returns:
        The number of entries written.
    """
    at = 0
    for row in range(len(offsets) - 1):
        first, last = offsets[row], offsets[row + 1]
        at = _keep(masks, counts, first, last, False, sorted_masks, sorted_counts, at)
        sorted_offsets[row + 1] = at
    return at


@compiled
def pack(values: Integers, bits: int, target: Integers) -> None:
    """Write numbers ≥ 0 of so many bits into bytes, one after another, low bits first."""
    buffer, width, at = np.uint64(0), 0, 0
    for k in range(len(values)):
        value, remaining = np.uint64(values[k]), bits
        while remaining > 0:
            part = min(remaining, 32)  # with the buffer's up to 7 bits, no more than 64
            buffer |= (value & ((np.uint64(1) << np.uint64(part)) - np.uint64(1))) << np.uint64(width)
            value >>= np.uint64(part)
            remaining -= part
            width += part
            while width >= 8:
                target[at] = np.uint8(buffer & np.uint64(255))
                buffer >>= np.uint64(8)
                width -= 8
                at += 1
    if width > 0:
        target[at] = np.uint8(buffer & np.uint64(255))


@compiled
def unpack(source: Integers, bits: int, values: Integers) -> None:
    """Read numbers that `pack` has written."""
    buffer, width, at = np.uint64(0), 0, 0
    for k in range(len(values)):
        value, done = np.uint64(0), 0
        while done < bits:
            part = min(bits - done, 32)
            while width < part:
                buffer |= np.uint64(source[at]) << np.uint64(width)
                width += 8
                at += 1
            value |= (buffer & ((np.uint64(1) << np.uint64(part)) - np.uint64(1))) << np.uint64(done)
            buffer >>= np.uint64(part)
            width -= part
            done += part
        values[k] = np.int64(value)
