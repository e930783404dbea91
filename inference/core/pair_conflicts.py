"""Which schemes get into each other's way, from measurements alone: of single schemes and of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Bools, Floats
from inference.core.experiment import Measured

CONFLICT = 0.25
"""Share from which two schemes are said to compete: less is what noise and waste do."""


@dataclass(frozen=True)
class PairConflicts:
    """`alone`: cycles of one instance. `shares`: of pairs (a, b) with a < b, which part of the quicker one
    comes on top of the slower one: 0 where they run side by side, 1 where one waits for the other.
    """

    alone: Mapping[str, float]
    shares: Mapping[tuple[str, str], float]


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
    return conflicts_of(alone, together)


def conflicts_of(alone: Mapping[str, float], together: Mapping[tuple[str, str], float]) -> PairConflicts:
    """Of cycles of one instance, and of one of each of two, {(a, b): cycles} with a < b."""
    shares = {}
    for (first, second), cycles in together.items():
        if first in alone and second in alone:
            slower, quicker = max(alone[first], alone[second]), min(alone[first], alone[second])
            shares[first, second] = min(max((cycles - slower) / quicker, 0.0), 1.0)
    return PairConflicts(alone, shares)


# Everybody against everybody, those that compete side by side.


ALIKE = 0.75
"""Share that the schemes of two groups hinder each other by, on average, from which they are one class."""


@dataclass(frozen=True, eq=False)
class ConflictMatrix:
    """`classes`: schemes that compete with one another, in an order that has those that compete side by side.

    `shares`: float64[n, n] of all their schemes in this order, NaN on the diagonal and where a pair was not
    measured.
    """

    classes: tuple[tuple[str, ...], ...]
    shares: Floats

    @property
    def schemes(self) -> tuple[str, ...]:
        """All of them, in the order of the rows."""
        return tuple(scheme for members in self.classes for scheme in members)

    def between_classes(self) -> Floats:
        """float64[classes, classes]: the median of the pairs of two classes, and within one, NaN for none."""
        bounds = np.cumsum([0, *map(len, self.classes)])
        number = len(self.classes)
        found = np.full((number, number), np.nan)
        for one in range(number):
            for other in range(one, number):
                block = self.shares[bounds[one] : bounds[one + 1], bounds[other] : bounds[other + 1]]
                known = block[~np.isnan(block)]
                if known.size:
                    found[one, other] = found[other, one] = np.median(known)
        return found


def conflict_matrix(conflicts: PairConflicts, most: int) -> ConflictMatrix:
    """Of the schemes in most pairs, `most` at most, clustered by average linkage.

    Two schemes are as near as they hinder each other; two that were not measured together as they hinder
    the same others alike.
    """
    pairs = Counter(scheme for pair in conflicts.shares for scheme in pair)
    schemes = sorted(pairs, key=lambda scheme: (-pairs[scheme], scheme))[:most]
    schemes.sort(key=lambda scheme: (round(conflicts.alone[scheme], 2), scheme))
    place = {scheme: number for number, scheme in enumerate(schemes)}
    shares = np.full((len(schemes), len(schemes)), np.nan)
    for (first, second), share in conflicts.shares.items():
        if first in place and second in place:
            shares[place[first], place[second]] = shares[place[second], place[first]] = share
    classes = _clustered(_distances(shares))
    order = [row for rows in classes for row in rows]
    named = tuple(tuple(schemes[row] for row in rows) for rows in classes)
    return ConflictMatrix(named, shares[np.ix_(order, order)])


def _distances(shares: Floats) -> Floats:
    """float64[n, n]: 0 for schemes that wait for each other, 1 for those that never meet."""
    known = ~np.isnan(shares)
    distances = np.where(known, 1 - shares, 1.0)
    if not known[~np.eye(len(shares), dtype=bool)].all():
        _estimate(distances, shares, known)
    np.fill_diagonal(distances, 0.0)
    return distances


def _estimate(distances: Floats, shares: Floats, known: Bools) -> None:
    """Fill in the pairs that were not measured: how differently both hinder those that both were paired with.

    The sum of the differences over that of the larger shares: whom neither hinders says nothing.
    """
    filled = np.where(known, shares, 0.0)
    for row in range(len(shares)):
        others, partners = np.flatnonzero(~known[row]), np.flatnonzero(known[row])
        theirs = filled[np.ix_(others, partners)]
        both = known[np.ix_(others, partners)]
        own = filled[row, partners]
        apart = np.where(both, np.abs(own - theirs), 0.0).sum(axis=1)
        most = np.where(both, np.maximum(own, theirs), 0.0).sum(axis=1)
        distances[row, others] = np.divide(apart, most, out=np.ones(len(others)), where=most > 0)


def _clustered(distances: Floats) -> list[list[int]]:
    """The rows of each class, in the order of the tree's leaves."""
    if len(distances) < 2:
        return [[row] for row in range(len(distances))]
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage  # loads scipy
    from scipy.spatial.distance import squareform  # loads scipy

    tree = linkage(squareform(distances, checks=False), method="average")
    of = fcluster(tree, 1 - ALIKE, criterion="distance")
    classes: dict[int, list[int]] = {}
    for row in leaves_list(tree):
        classes.setdefault(int(of[row]), []).append(int(row))
    return list(classes.values())
