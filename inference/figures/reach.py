"""Where the axes of a heat map end: a round number that nearly all experiments are within."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from inference.core.arrays import Floats
from inference.core.errors import InvalidInputError

PART = 1 << 16
"""Points looked at at once: what is needed on the way fits the cache, however many there are."""

COVERED = 0.995
"""Share of the experiments that the axes must reach."""

_LIMITS = (1e-3, 1e300)
"""Axes end between these, lest scaling to bins under- or overflows."""

_STEPS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
_ENDS = np.array(sorted({step * 10.0**power for power in range(-3, 300) for step in _STEPS} | set(_LIMITS)))
"""The round numbers that axes may end at, ascending; from 10²² on, round but for the last bit."""


class Reach:
    """How far experiments reach, as far as that decides where axes end: one count per possible end."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(_ENDS), dtype=np.int64)

    def add(self, measured: npt.ArrayLike, predicted: npt.ArrayLike) -> None:
        """Look at more experiments: see `heat_map` for what they may be."""
        seen, said = checked_points(measured, predicted)
        for start in range(0, len(seen), PART):
            part = slice(start, start + PART)
            largest = np.maximum(seen[part], said[part])
            finite = np.clip(largest[np.isfinite(largest) & (largest > 0)], *_LIMITS)
            self._counts += np.bincount(np.searchsorted(_ENDS, finite), minlength=len(_ENDS))

    def merge(self, other: Reach) -> None:
        """Look at what another has looked at."""
        self._counts += other._counts

    @property
    def limit(self) -> float:
        """The end that reaches all experiments or, where single ones lie far out, 99.5 % of them."""
        n = int(self._counts.sum())
        if not n:
            return 1.0
        upto = np.cumsum(self._counts)
        farthest = float(_ENDS[np.searchsorted(upto, n)])
        most = float(_ENDS[np.searchsorted(upto, math.ceil((n - 1) * COVERED) + 1)])
        return farthest if farthest <= 1.5 * most else most


def checked_points(measured: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Measured and predicted as arrays, or `InvalidInputError` where they cannot be drawn."""
    seen = np.asarray(measured, dtype=np.float64)
    said = np.asarray(predicted, dtype=np.float64)
    if seen.ndim != 1 or seen.shape != said.shape:
        raise InvalidInputError(f"a heat map needs two equally long lists, not {seen.shape} and {said.shape}")
    if not (np.all(np.isfinite(seen) & (seen >= 0)) and np.all(said >= 0)):
        raise InvalidInputError("a heat map needs finite measurements ≥ 0 and predictions ≥ 0")
    return seen, said
