"""Which blocks discoveries cover, and the k that together cover the most (thesis §8.1.7, §8.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.blocks import SampledBlock
from inference.core.errors import InvalidInputError

Covered = npt.NDArray[np.bool_]
"""bool[d, b]: whether discovery d subsumes block b."""


def covered_blocks(
    domain: BlockDomain,
    discoveries: Sequence[AbstractBlock],
    blocks: Sequence[SampledBlock],
    pulse: Callable[[], None] = lambda: None,
) -> Covered:
    """Which discovery subsumes which block, through what represents the block (Definition 8.7).

    `pulse` is called after every block.
    """
    covered = np.zeros((len(discoveries), len(blocks)), dtype=np.bool_)
    for b, block in enumerate(blocks):
        abstract = domain.represent(block)
        for d, discovery in enumerate(discoveries):
            covered[d, b] = domain.subsumes(discovery, abstract)
        pulse()
    return covered


_SECONDS = 60.0

Weights = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DiscoverySelection:
    """Discoveries by their rows, the one that adds most first; `blocks` is how many they cover together.

    `proven`: no other selection of this size covers more. Otherwise time ran out.
    """

    chosen: tuple[int, ...]
    blocks: int
    proven: bool


def best_selection(covered: Covered, k: int, seconds: float = _SECONDS) -> DiscoverySelection:
    """At most k discoveries that cover a maximal number of blocks; fewer where more would add nothing.

    Blocks that the same discoveries cover are one variable with their number for its weight, which may be
    fractional: in an optimum it is 0 or 1 by itself. Raises `InvalidInputError` for k < 1.
    """
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, not {k}")
    patterns, weights = np.unique(covered[:, covered.any(axis=0)], axis=1, return_counts=True)
    if not patterns.size:
        return DiscoverySelection((), 0, proven=True)
    chosen, proven = _solved(patterns, weights, k, seconds)
    greedy = _greedy(patterns, weights, k)
    if _weight(patterns, weights, greedy) >= _weight(patterns, weights, chosen):
        chosen = greedy
    ordered = _by_what_they_add(patterns, weights, chosen)
    return DiscoverySelection(tuple(ordered), _weight(patterns, weights, ordered), proven)


def _solved(patterns: Covered, weights: Weights, k: int, seconds: float) -> tuple[list[int], bool]:
    """The optimum by HiGHS: variables are first the discoveries, then the patterns."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # loads scipy
    from scipy.sparse import csr_array, hstack, identity  # loads scipy

    n, m = patterns.shape
    used, which = np.nonzero(patterns)
    covering = csr_array((np.ones(len(used)), (which, used)), shape=(m, n))
    answer = milp(
        c=np.concatenate([np.zeros(n), -weights.astype(float)]),
        integrality=np.concatenate([np.ones(n), np.zeros(m)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(np.concatenate([np.ones(n), np.zeros(m)])[None, :], ub=k),
            LinearConstraint(hstack([covering, -identity(m)]), lb=0),
        ],
        options={"time_limit": seconds},
    )
    if answer.x is None:
        return [], False
    return [int(row) for row in np.flatnonzero(answer.x[:n] > 0.5)], answer.status == 0


def _greedy(patterns: Covered, weights: Weights, k: int) -> list[int]:
    return _by_what_they_add(patterns, weights, range(patterns.shape[0]))[:k]


def _by_what_they_add(patterns: Covered, weights: Weights, rows: range | list[int]) -> list[int]:
    """The rows in the order in which each adds the most, the lower of equals; without those that add none."""
    left, missing, ordered = list(rows), np.ones(patterns.shape[1], dtype=np.bool_), []
    while left:
        gains = (patterns[left] & missing) @ weights
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        ordered.append(left.pop(best))
        missing &= ~patterns[ordered[-1]]
    return ordered


def _weight(patterns: Covered, weights: Weights, rows: list[int]) -> int:
    return int(weights[patterns[rows].any(axis=0)].sum()) if rows else 0
