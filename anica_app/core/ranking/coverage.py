"""Which blocks discoveries explain (thesis §8.1.7, §8.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from anica_app.core.search.protocols import AbstractT, BlockT, Domain, ExpansionT

Covered = npt.NDArray[np.bool_]
"""bool[d, b]: whether discovery d subsumes block b."""


def covered_blocks(
    domain: Domain[BlockT, AbstractT, ExpansionT],
    discoveries: Sequence[AbstractT],
    blocks: Sequence[BlockT],
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


def share_covered(covered: Covered, among: Sequence[int] | None = None) -> float | None:
    """The share of the blocks that at least one discovery (of those `among`) covers; None without blocks."""
    if not covered.shape[1]:
        return None
    rows = covered if among is None else covered[list(among)]
    return float(rows.any(axis=0).mean())
