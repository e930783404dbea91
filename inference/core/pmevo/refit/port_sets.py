"""The port sets that a search tries for every scheme: all, or where these are many, the nearest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from inference.core.tables import Int64s

_MAX_SETS = 2048
_MAX_ANSWERS = 64


@dataclass(frozen=True)
class PortSets:
    """Sets of up to `widest` of `n_ports` ports.

    `listed`: ascending; without the widest where all are too many to try. Then `is_partial` is set, and the
    `neighbours` of the sets in use are tried, too.
    """

    n_ports: int
    widest: int
    listed: Int64s
    is_partial: bool
    _answers: dict[tuple[int, ...], Int64s] = field(default_factory=dict, repr=False, compare=False)
    """Cache by arguments: the kinds in use hardly change from one scheme of a sweep to the next."""

    @classmethod
    def of(cls, n_ports: int, widest: int) -> PortSets:
        masks: list[int] = []
        max_width = min(n_ports, widest)
        for width in range(1, max_width + 1):
            if masks and len(masks) + math.comb(n_ports, width) > _MAX_SETS:
                return cls(n_ports, max_width, np.array(sorted(masks), dtype=np.int64), is_partial=True)
            masks.extend(sum(1 << port for port in ports) for ports in combinations(range(n_ports), width))
        return cls(n_ports, max_width, np.array(sorted(masks), dtype=np.int64), is_partial=False)

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

    def around(self, used: Int64s, allowed: int = -1) -> Int64s:
        """The sets in use and those to try in addition, of `allowed` ports, ascending.

        Ports that are in the same used sets are interchangeable: of sets that differ only in these, the first
        is tried.
        """
        masks = (*used.tolist(), allowed)
        if masks not in self._answers:
            if len(self._answers) == _MAX_ANSWERS:
                self._answers.clear()
            self._answers[masks] = self._around(used, allowed)
        return self._answers[masks]

    def _around(self, used: Int64s, allowed: int) -> Int64s:
        tried: Int64s = np.union1d(self.listed, used)
        if self.is_partial:
            tried = np.union1d(tried, self.neighbours(used))
            for first, second in self._interchangeable((*used.tolist(), allowed)):
                tried = tried[(tried >> first & 1) >= (tried >> second & 1)]
        within: Int64s = tried[(tried & ~allowed) == 0]
        return within

    def _interchangeable(self, masks: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Pairs of ports that are in the same masks: each port with the last one before it."""
        last: dict[tuple[int, ...], int] = {}
        for port in range(self.n_ports):
            membership = tuple(mask >> port & 1 for mask in masks)
            if membership in last:
                yield last[membership], port
            last[membership] = port
