"""Kendall's τ_b of any number of points, exact, from parts that are merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.arrays import Floats, Int64s

Pairs = npt.NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often each pair (x, y) occurs: all that τ_b needs to know of the points.

    `pairs` complex128[m], x + iy, which numpy sorts by x and then by y; they are distinct and ascending.
    `counts` int64[m] ≥ 1. That is 24 bytes per distinct pair, at most as many per point; rounded measurements
    and the few answers that a port mapping has make it far fewer.
    """

    pairs: Pairs
    counts: Int64s

    @classmethod
    def of(cls, x: Floats, y: Floats) -> PairCounts:
        """Those of two equally long arrays without NaN."""
        points = np.empty(len(x), dtype=np.complex128)
        points.real = x  # not x + 1j * y: an infinite y would make x NaN
        points.imag = y
        pairs, counts = np.unique(points, return_counts=True)
        return cls(pairs, counts.astype(np.int64))

    @classmethod
    def merged(cls, parts: Sequence[PairCounts]) -> PairCounts:
        """The counts of all points together."""
        pairs = np.concatenate([part.pairs for part in parts]) if parts else np.empty(0, np.complex128)
        counts = np.concatenate([part.counts for part in parts]) if parts else np.empty(0, np.int64)
        # The parts are sorted runs, which a stable sort merges in linear time.
        order = np.argsort(pairs, kind="stable")
        pairs = pairs[order]
        first = _changes(pairs)
        return cls(pairs[first], _sums(counts[order], first))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def tau_b(self) -> float | None:
        """Kendall's τ_b; None where x or y is constant.

        Counts pairs of points in integers, so the order in which points came makes no difference at all.
        """
        x, y = self.pairs.real, self.pairs.imag
        by_y = np.argsort(y, kind="stable")
        first_x, first_y = _changes(x), _changes(y[by_y])
        total = _twos(np.array([self.n]))
        tied_x = _twos(_sums(self.counts, first_x))
        tied_y = _twos(_sums(self.counts[by_y], first_y))
        if total in (tied_x, tied_y):
            return None
        ranks = np.zeros(len(self), dtype=np.int64)
        ranks[first_x[1:]] = 1
        discordant = inversions(np.cumsum(ranks)[by_y], self.counts[by_y])
        agreeing = total - tied_x - tied_y + _twos(self.counts) - 2 * discordant
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
