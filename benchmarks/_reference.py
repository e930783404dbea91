"""What a straightforward compiled program does: the yardstick of `simulate`, nothing that the product uses.

For every experiment it goes through all sets of ports and counts the µops confined to each (thesis Thm 5.2),
as the published simulators do. The published one, written by hand with AVX2, is about 1.7 times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.compiling import compiled

Integers = npt.NDArray[Any]

_MOST_KINDS = 1024


@compiled
def enumerate_ports(
    offsets: Integers,
    masks: Integers,
    counts: Integers,
    n_ports: int,
    experiments: Integers,
    scheme: Integers,
    repeats: Integers,
    cycles: npt.NDArray[np.float64],
) -> None:
    """Inverse throughputs, float64[n], of experiments under one mapping, both as compressed rows."""
    kinds = np.empty(_MOST_KINDS, dtype=np.int64)
    mass = np.empty(_MOST_KINDS, dtype=np.int64)
    size = np.zeros(1 << n_ports, dtype=np.int64)
    for ports in range(1, 1 << n_ports):
        size[ports] = size[ports >> 1] + (ports & 1)
    for e in range(len(cycles)):
        n = 0
        for t in range(experiments[e], experiments[e + 1]):
            for u in range(offsets[scheme[t]], offsets[scheme[t] + 1]):
                kinds[n] = masks[u]
                mass[n] = counts[u] * repeats[t]
                n += 1
        best = 0.0
        for ports in range(1, 1 << n_ports):
            inside = 0
            for k in range(n):
                if kinds[k] & ~ports == 0:
                    inside += mass[k]
            if inside > best * size[ports]:
                best = inside / size[ports]
        cycles[e] = best
