"""The port sets that a search tries for every scheme: all of them, or where they are many, the nearest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from inference.core.arrays import Int64s

_MOST_SETS = 2048


@dataclass(frozen=True)
class PortSets:
    """Sets of up to `widest` of `n_ports` ports.

    `listed`: ascending; without the widest where they are too many to try all. Then `is_partial`, and the
    `neighbours` of the sets in use are worth a try beside them.
    """

    n_ports: int
    widest: int
    listed: Int64s
    is_partial: bool

    @classmethod
    def of(cls, n_ports: int, widest: int) -> PortSets:
        """Those of so many ports."""
        masks: list[int] = []
        most = min(n_ports, widest)
        for width in range(1, most + 1):
            if masks and len(masks) + math.comb(n_ports, width) > _MOST_SETS:
                return cls(n_ports, most, np.array(sorted(masks), dtype=np.int64), is_partial=True)
            masks.extend(sum(1 << port for port in ports) for ports in combinations(range(n_ports), width))
        return cls(n_ports, most, np.array(sorted(masks), dtype=np.int64), is_partial=False)

    def neighbours(self, used: Int64s) -> Int64s:
        """Sets with one port more, less or exchanged than one of `used`, ascending."""
        single = np.int64(1) << np.arange(self.n_ports, dtype=np.int64)
        flipped = (used[:, np.newaxis] ^ single).ravel()
        exchanged = (flipped[:, np.newaxis] ^ single).ravel()
        sizes = np.bitwise_count(exchanged).astype(np.int64)
        before = np.repeat(np.bitwise_count(used).astype(np.int64), self.n_ports**2)
        near = np.concatenate((flipped, exchanged[sizes == before]))
        widths = np.bitwise_count(near)
        return np.unique(near[(widths >= 1) & (widths <= self.widest)])

    def around(self, used: Int64s) -> Int64s:
        """What is tried beside `used`, and these, ascending."""
        tried = np.union1d(self.listed, used)
        return np.union1d(tried, self.neighbours(used)) if self.is_partial else tried
