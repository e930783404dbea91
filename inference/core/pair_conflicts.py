"""Which schemes get into each other's way, from measurements of single schemes and of pairs alone.

`conflict_matrix` clusters those in most pairs: schemes that compete stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.experiment import Measured
from inference.core.tables import Bools, Floats, Int64s

CONFLICT = 0.25
"""Share from which two schemes are said to compete: less is what noise and waste do."""

ALIKE = 0.75
"""Share that the schemes of two groups hinder each other by, on average, from which they are one class."""


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
    often = np.bincount(conflicts.pairs.ravel(), minlength=len(conflicts.schemes))
    drawn = np.argsort(-often, kind="stable")[: min(most, np.count_nonzero(often))]
    drawn = drawn[np.lexsort((drawn, conflicts.alone[drawn].round(2)))]
    row_of = np.full(len(often), -1)
    row_of[drawn] = np.arange(len(drawn))
    cells = row_of[conflicts.pairs]
    inside = (cells >= 0).all(axis=1)
    shares = np.full((len(drawn), len(drawn)), np.nan)
    for one, other in ((0, 1), (1, 0)):
        shares[cells[inside, one], cells[inside, other]] = conflicts.shares[inside]
    classes = _clustered(_distances(shares))
    order = [row for rows in classes for row in rows]
    named = tuple(tuple(conflicts.schemes[drawn[row]] for row in rows) for rows in classes)
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
    """The rows of each class; classes in an order that has near ones side by side.

    The nearest two groups become one until all are: by average linkage, groups only ever get further apart,
    so that the classes are what there is when the first two are merged that are not alike.
    """
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    groups = [[row] for row in range(len(apart))]
    class_of = np.arange(len(apart))
    for _ in range(len(apart) - 1):
        one, other = divmod(int(apart.argmin()), len(apart))
        if apart[one, other] <= 1 - ALIKE:
            class_of[groups[other]] = class_of[one]
        sizes = len(groups[one]), len(groups[other])
        apart[one] = apart[:, one] = np.average(apart[[one, other]], axis=0, weights=sizes)
        apart[other] = apart[:, other] = np.inf
        groups[one] += groups[other]
    leaves = groups[0] if groups else []
    classes: dict[int, list[int]] = {}
    for row in leaves:
        classes.setdefault(int(class_of[row]), []).append(row)
    return list(classes.values())
