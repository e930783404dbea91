"""How often each two of several tools disagree about the same blocks (thesis, Figure 8.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anica_app.core.search.judging import ABSOLUTE

Cycles = npt.NDArray[np.float64]
"""float64[t, b]: what tool t says of block b; not a number where it gave none."""


@dataclass(frozen=True)
class ToolAgreement:
    """`both[i, j]`: blocks for which tools i and j gave numbers; `differing`: where these are far apart."""

    both: npt.NDArray[np.int64]
    differing: npt.NDArray[np.int64]


def agreement(cycles: Cycles, metric: str, threshold: float) -> ToolAgreement:
    """Count for all pairs; `metric` is "relative" or "absolute", as in `InterestSettings`."""
    tools = cycles.shape[0]
    both = np.zeros((tools, tools), dtype=np.int64)
    differing = np.zeros((tools, tools), dtype=np.int64)
    known = ~np.isnan(cycles)
    for one in range(tools):
        both[one, one] = known[one].sum()
        for other in range(one):
            shared = known[one] & known[other]
            far = differences(cycles[one, shared], cycles[other, shared], metric) > threshold
            both[one, other] = both[other, one] = shared.sum()
            differing[one, other] = differing[other, one] = far.sum()
    return ToolAgreement(both, differing)


def differences(a: Cycles, b: Cycles, metric: str) -> Cycles:
    """|a − b|, in cycles or by the mean of both; 0 where both are 0."""
    apart: Cycles = np.abs(a - b)
    if metric == ABSOLUTE:
        return apart
    total = a + b
    return np.divide(2 * apart, total, out=np.zeros_like(apart), where=total > 0)
