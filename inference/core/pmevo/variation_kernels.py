"""Compiled loops of `variation`: inheritance of rows, mutations, and fingerprints.

Importing this module loads numba. Random streams are those of `random_bits`, arrays those of
`inference.core.pmevo.kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inference.core.compiling import compiled
from inference.core.pmevo.random_bits import below, hash_bits, next_bits
from inference.core.tables import Integers

_RESOLUTION = 1 << 32  # chances are whole numbers out of so many


@compiled
def inherit(
    parents: Integers,
    seeds: Integers,
    n_schemes: int,
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    child_offsets: Integers,
    child_masks: Integers,
    child_counts: Integers,
) -> int:
    """Two children per pair of parents: each scheme's row is one parent's, and the other's for the sibling.

    Args:
        parents: int64[n_pairs, 2], indices of the parents.
        seeds: One per pair.
        n_schemes: Rows per mapping.
        offsets, masks, counts: Rows of the parents, as in `kernels.recombine`.
        child_offsets, child_masks, child_counts: Result, with room for all entries of all parents.

    Returns:
        The number of entries written.
    """
    state = np.zeros(1, dtype=np.uint64)
    side = np.zeros(n_schemes, dtype=np.int64)
    at = 0
    child_offsets[0] = 0
    for p in range(len(parents)):
        state[0] = seeds[p]
        for s in range(n_schemes):
            side[s] = below(state, 2)
        for child in range(2):
            for s in range(n_schemes):
                row = parents[p, side[s] ^ child] * n_schemes + s
                for k in range(offsets[row], offsets[row + 1]):
                    child_masks[at] = masks[k]
                    child_counts[at] = counts[k]
                    at += 1
                child_offsets[(2 * p + child) * n_schemes + s + 1] = at
    return at


@compiled
def mutate(
    seeds: Integers,
    chance: int,
    limits: Integers,
    n_ports: int,
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    new_offsets: Integers,
    new_masks: Integers,
    new_counts: Integers,
) -> int:
    """Copy each mapping, changing each scheme in one way with probability `chance` / 2³².

    The ways are equally likely: one more of a µop, one less, a kind of µop less, a port more or less for one,
    a kind more, or a new usage of one kind that takes about as long as the scheme's measured time. New port
    sets are sampled from all of them, or every other time from those that the mapping uses. No port set comes
    twice in a row, and at least one µop stays.

    Args:
        seeds: One per mapping.
        chance: Probability of a change, from 0 to 2³².
        limits: int64[n_schemes, n_ports], the largest counts by width, as in `kernels.sample`.
        n_ports: Number of ports.
        offsets, masks, counts: Rows of the mappings.
        new_offsets, new_masks, new_counts: Result, with room for one entry more per row.

    Returns:
        The number of entries written.
    """
    n_schemes = limits.shape[0]
    state = np.zeros(1, dtype=np.uint64)
    at = 0
    new_offsets[0] = 0
    for m in range(len(seeds)):
        state[0] = seeds[m]
        first, last = offsets[m * n_schemes], offsets[(m + 1) * n_schemes]
        for s in range(n_schemes):
            row = m * n_schemes + s
            start = at
            for k in range(offsets[row], offsets[row + 1]):
                new_masks[at] = masks[k]
                new_counts[at] = counts[k]
                at += 1
            if below(state, _RESOLUTION) < chance:
                other = masks[first + below(state, last - first)]
                at = _change(state, limits[s], n_ports, other, new_masks, new_counts, start, at)
            new_offsets[row + 1] = at
    return at


@compiled
def _change(
    state: Integers,
    limits: Integers,
    n_ports: int,
    other: int,
    masks: Integers,
    counts: Integers,
    start: int,
    end: int,
) -> Any:
    """Change the row from `start` to `end` in one way, and return its new end.

    `other`: a port set for new kinds. The ways are numbered as `mutate` lists them; one that would leave the
    limits changes nothing.
    """
    kind_of_change = below(state, 6)
    k = start + below(state, end - start)
    mask, count = np.int64(masks[k]), np.int64(counts[k])
    if kind_of_change < 2:
        changed = count + 1 - 2 * kind_of_change
        if 1 <= changed <= limits[_width(mask) - 1]:
            counts[k] = changed
        return end
    if kind_of_change == 2:
        return _without(masks, counts, k, end) if end - start > 1 else end
    if kind_of_change == 3:
        mask ^= np.int64(1) << below(state, n_ports)
        if mask == 0 or _has(masks, start, end, mask):
            return end
        end = _without(masks, counts, k, end)
        return _with(masks, counts, start, end, mask, min(count, limits[_width(mask) - 1]))
    return _renew(state, limits, n_ports, other, kind_of_change == 4, masks, counts, start, end)


@compiled
def _renew(
    state: Integers,
    limits: Integers,
    n_ports: int,
    other: Any,
    keep: bool,
    masks: Integers,
    counts: Integers,
    start: int,
    end: int,
) -> Any:
    """Add a kind to the row, or with `keep` False replace all its kinds; returns the new end."""
    mask = np.int64(other)
    if below(state, 2) == 0:
        mask = _any_ports(state, n_ports)
    limit = limits[_width(mask) - 1]
    if not keep:
        return _with(masks, counts, start, start, mask, max(1, limit - below(state, 2)))
    if _has(masks, start, end, mask):
        return end
    return _with(masks, counts, start, end, mask, 1 + below(state, limit))


@compiled
def _any_ports(state: Integers, n_ports: int) -> Any:
    """A random non-empty port set; above 32 ports without `below`, whose bound is at most 2³²."""
    full = (np.int64(1) << np.int64(n_ports)) - 1
    if n_ports <= 32:
        return 1 + below(state, full)
    mask = np.int64(0)
    while mask == 0:
        mask = np.int64(next_bits(state) >> np.uint64(1)) & full
    return mask


@compiled
def _width(mask: Any) -> Any:
    width = 0
    while mask:
        mask &= mask - np.int64(1)
        width += 1
    return width


@compiled
def _has(masks: Integers, start: int, end: int, mask: Any) -> bool:
    is_present = False
    for k in range(start, end):
        is_present = is_present or masks[k] == mask
    return is_present


@compiled
def _without(masks: Integers, counts: Integers, k: int, end: int) -> int:
    for j in range(k, end - 1):
        masks[j] = masks[j + 1]
        counts[j] = counts[j + 1]
    return end - 1


@compiled
def _with(masks: Integers, counts: Integers, start: int, end: int, mask: Any, count: Any) -> int:
    place = end
    while place > start and masks[place - 1] > mask:
        masks[place] = masks[place - 1]
        counts[place] = counts[place - 1]
        place -= 1
    masks[place] = mask
    counts[place] = count
    return end + 1


@compiled
def fingerprint(n_schemes: int, offsets: Integers, masks: Integers, counts: Integers, out: Integers) -> None:
    """A hash of each mapping into `out` uint64[n_mappings]; it does not depend on the order within rows."""
    for m in range(len(out)):
        total = np.uint64(0)
        for s in range(n_schemes):
            row = m * n_schemes + s
            for k in range(offsets[row], offsets[row + 1]):
                bits = hash_bits(np.uint64(masks[k]) ^ hash_bits(np.uint64(s + 1)))
                total += hash_bits(bits ^ np.uint64(counts[k]))
        out[m] = total
