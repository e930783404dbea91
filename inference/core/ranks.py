"""Kendall's τ_b of any number of points, exact, without loading scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.arrays import Floats, Int64s


def tau_b(x: Floats, y: Floats) -> float | None:
    """Kendall's τ_b of two equally long arrays without NaN; None where either is constant.

    Counts pairs of points in integers, so the order in which points came makes no difference at all. Points
    that occur several times are looked at once: rounded measurements and the few answers of a mapping have
    many.
    """
    points = np.empty(len(x), dtype=np.complex128)  # which numpy sorts by x and then by y
    points.real = x  # not x + 1j * y: an infinite y would make x NaN
    points.imag = y
    pairs, counts = np.unique(points, return_counts=True)
    by_y = np.argsort(pairs.imag, kind="stable")
    first_x, first_y = _changes(pairs.real), _changes(pairs.imag[by_y])
    total = _twos(np.array([len(x)]))
    tied_x = _twos(_sums(counts, first_x))
    tied_y = _twos(_sums(counts[by_y], first_y))
    if total in (tied_x, tied_y):
        return None
    ranks = np.zeros(len(pairs), dtype=np.int64)
    ranks[first_x[1:]] = 1
    discordant = inversions(np.cumsum(ranks)[by_y], counts[by_y])
    agreeing = total - tied_x - tied_y + _twos(counts) - 2 * discordant
    tau = agreeing / math.sqrt(total - tied_x) / math.sqrt(total - tied_y)
    return min(1.0, max(-1.0, tau))


def inversions(ranks: npt.NDArray[Any], weights: Int64s) -> int:
    """Σ weights[i] · weights[j] over all i < j with ranks[i] > ranks[j]; ranks ≥ 0.

    Bit by bit from the highest: two ranks are in the order that their first differing bit says. At each bit,
    elements that agree on the bits above it lie together, in their original order. O(n · bits of the largest
    rank).
    """
    if len(ranks) and ranks.max() <= np.iinfo(np.uint16).max:
        ranks = ranks.astype(np.uint16)  # these numpy sorts in linear time
    total = 0
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        ones = ((ranks >> bit) & 1).astype(np.int64)
        alike = _changes(ranks >> (bit + 1))
        above = np.cumsum(weights * ones)  # weight of ones up to here, all groups
        before = np.concatenate(([0], above))[alike]
        below = weights * (1 - ones)
        total += int(below @ above) - int(_sums(below, alike) @ before)
        order = np.argsort(ranks >> bit, kind="stable")
        ranks, weights = ranks[order], weights[order]
    return total


def _changes(values: npt.NDArray[Any]) -> Int64s:
    """Where runs of equal values begin."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))


def _sums(values: Int64s, first: Int64s) -> Int64s:
    """Sums of the runs that begin at `first`."""
    return np.add.reduceat(values, first) if len(first) else np.zeros(0, dtype=np.int64)


def _twos(counts: Int64s) -> int:
    """In how many ways two points can be chosen from the same group."""
    return int((counts * (counts - 1) // 2).sum())
