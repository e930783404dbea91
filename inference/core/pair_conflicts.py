"""Which schemes get into each other's way, from measurements alone: of single schemes and of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.experiment import Measured

CONFLICT = 0.25
"""Share from which two schemes are said to compete: less is what noise and waste do."""


@dataclass(frozen=True, eq=False)
class PairConflicts:
    """`schemes`: those measured alone, in the order of their texts; `alone` float64[n]: cycles of one
    instance.

    `pairs` int64[p, 2]: places of two of them, each pair once and its first scheme first. `shares`
    float64[p]: which part of the quicker one comes on top of the slower one: 0 where they run side by side,
    1 where one waits for the other.
    """

    schemes: Sequence[str]
    alone: Floats
    pairs: Int64s
    shares: Floats

    @property
    def competing(self) -> int:
        """Pairs that hinder each other by more than noise does."""
        return int(np.count_nonzero(self.shares >= CONFLICT))

    def paired(self) -> Int64s:
        """The places of the schemes that are in pairs."""
        return np.flatnonzero(np.bincount(self.pairs.ravel()))


def pair_conflicts(results: Iterable[Measured]) -> PairConflicts:
    """Of all usable measurements of single schemes and 1:1 pairs, of repeated ones the last.

    Pairs of what was not measured alone are left out.
    """
    alone: dict[str, float] = {}
    together: dict[tuple[str, str], float] = {}
    for result in results:
        if not result.usable or not result.cycles:
            continue
        terms = result.experiment.terms
        if result.experiment.length == 1:
            alone[terms[0][0]] = result.cycles
        elif result.experiment.length == 2 and len(terms) == 2:
            first, second = sorted(scheme for scheme, _ in terms)
            together[first, second] = result.cycles
    schemes = sorted(alone)
    place = {scheme: number for number, scheme in enumerate(schemes)}
    pairs = {(place[a], place[b]): time for (a, b), time in together.items() if a in place and b in place}
    return conflicts_of(
        schemes,
        np.array([alone[scheme] for scheme in schemes], dtype=np.float64),
        np.array(list(pairs), dtype=np.int64).reshape(-1, 2),
        np.array(list(pairs.values()), dtype=np.float64),
    )


def conflicts_of(schemes: Sequence[str], alone: Floats, pairs: Int64s, together: Floats) -> PairConflicts:
    """Of what one instance takes, and one of each of two, `together` float64[p]; see `PairConflicts`."""
    each = alone[pairs]
    shares = (together - each.max(axis=1)) / each.min(axis=1)
    return PairConflicts(schemes, alone, pairs, shares.clip(0.0, 1.0))
