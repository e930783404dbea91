"""A mutable mapping: the µops of every scheme as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.core.mapping import Uops
from inference.core.tables import Floats, Int64s, Population
from inference.core.throughput import natural_width

MAX_KINDS = 4
"""Kinds of µops per scheme at most."""


@dataclass
class Usage:
    """`masks` and `counts` int64[n_schemes, MAX_KINDS]; the first `sizes[s]` entries of row s are in use.

    Rows are sorted by mask, as the order of kinds decides between equally good ones. `slots`
    int64[n_schemes]: issue slots.
    """

    masks: Int64s
    counts: Int64s
    sizes: Int64s
    slots: Int64s

    @classmethod
    def empty(cls, n_schemes: int) -> Usage:
        """No scheme has any µops, each takes one slot."""
        shape = n_schemes, MAX_KINDS
        return cls(
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
            np.zeros(n_schemes, np.int64),
            np.ones(n_schemes, np.int64),
        )

    @classmethod
    def of(cls, population: Population, index: int) -> Usage:
        """One mapping of a population. Of too many kinds, those that take most time are kept."""
        usage = cls.empty(population.n_schemes)
        for scheme in range(population.n_schemes):
            row = sorted(population.row(index, scheme), key=lambda uop: -uop[1] / uop[0].bit_count())
            usage.set_row(scheme, sorted(row[:MAX_KINDS]))
        return usage

    @classmethod
    def random(cls, times: Floats, n_ports: int, random: np.random.Generator) -> Usage:
        """One kind per scheme, on as many random ports as its inverse throughput suggests.

        `times`: cycles float64[n_schemes] of each scheme alone.
        """
        usage = cls.empty(len(times))
        for scheme, time in enumerate(times.tolist()):
            width = min(n_ports, natural_width(time))
            ports = random.choice(n_ports, size=width, replace=False).tolist()
            usage.set_row(scheme, [(sum(1 << port for port in ports), max(1, round(time * width)))])
        return usage

    def set_row(self, scheme: int, uops: Iterable[tuple[int, int]]) -> None:
        """Set the µops of a scheme: (mask, count) pairs in ascending order, at most `MAX_KINDS`."""
        size = 0
        for size, (mask, count) in enumerate(uops, start=1):
            self.masks[scheme, size - 1], self.counts[scheme, size - 1] = mask, count
        self.sizes[scheme] = size

    def row(self, scheme: int) -> Uops:
        size = self.sizes[scheme]
        masks, counts = self.masks[scheme, :size].tolist(), self.counts[scheme, :size].tolist()
        return tuple(sorted(zip(masks, counts, strict=True)))

    def copy(self) -> Usage:
        return Usage(self.masks.copy(), self.counts.copy(), self.sizes.copy(), self.slots.copy())

    def population(self, n_ports: int) -> Population:
        return Population.from_rows([self.row(scheme) for scheme in range(len(self.sizes))], 1, n_ports)

    def users(self, mask: int) -> list[int]:
        """The schemes that have µops of this kind, ascending."""
        schemes: list[int] = np.flatnonzero(((self.masks == mask) & self._in_use).any(axis=1)).tolist()
        return schemes

    def kinds(self) -> dict[int, int]:
        """{port set: number of schemes that use it}, ascending."""
        return dict(sorted(Counter(self.masks[self._in_use].tolist()).items()))

    def used_beside(self, scheme: int) -> tuple[Int64s, Floats, float]:
        """The port sets that other schemes use, ascending; log(schemes / users) of each, and of one user."""
        in_use = self._in_use
        in_use[scheme] = False
        kinds, users = np.unique(self.masks[in_use], return_counts=True)
        return kinds, np.log(len(self.sizes) / users), float(np.log(len(self.sizes)))

    def pressure(self, n_ports: int) -> Floats:
        """float64[n_schemes, n_ports]: µops on each port if each µop is spread evenly over its ports."""
        loads = np.zeros((len(self.sizes), n_ports))
        counts = np.where(self._in_use, self.counts, 0) / np.maximum(1, np.bitwise_count(self.masks))
        for port in range(n_ports):
            loads[:, port] = (counts * (self.masks >> port & 1)).sum(axis=1)
        return loads

    def volume(self, weights: Int64s) -> int:
        """µop volume (§5.1.3), each scheme counted `weights[s]` times."""
        widths = np.bitwise_count(self.masks).astype(np.int64)
        return int(((self.counts * widths * self._in_use).sum(axis=1) * weights).sum())

    @property
    def uops(self) -> int:
        """Number of µops of all schemes."""
        return int((self.counts * self._in_use).sum())

    @property
    def _in_use(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.arange(MAX_KINDS) < self.sizes[:, np.newaxis])
