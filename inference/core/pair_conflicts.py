"""Which schemes compete, from measurements of single schemes and of pairs alone.

`conflict_matrix` clusters the schemes in most pairs, so that schemes that compete are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.experiment import Measured
from inference.core.tables import Bools, Floats, Int64s

MIN_CONFLICT = 0.25
"""Share from which two schemes compete: less is caused by noise and waste."""

MIN_CLASS_SHARE = 0.75
"""Mean share by which the schemes of two groups delay each other, from which they form one class."""


@dataclass(frozen=True, eq=False)
class PairConflicts:
    """How much the schemes of measured pairs delay each other.

    `schemes`: those measured alone, in the order of their texts. `alone` float64[n]: cycles of one instance.
    `pairs` int64[p, 2]: indices of two schemes, each pair once, the smaller index first. `shares` float64[p]:
    how much of the quicker scheme's time is added to the slower one's: 0 where they run side by side, 1 where
    one waits for the other.
    """

    schemes: Sequence[str]
    alone: Floats
    pairs: Int64s
    shares: Floats

    @property
    def competing(self) -> int:
        """Number of pairs that delay each other by more than noise does."""
        return int(np.count_nonzero(self.shares >= MIN_CONFLICT))

    def paired(self) -> Int64s:
        """The indices of the schemes that occur in pairs."""
        return np.flatnonzero(np.bincount(self.pairs.ravel()))


def pair_conflicts(results: Iterable[Measured]) -> PairConflicts:
    """The conflicts in all usable measurements of single schemes and 1:1 pairs; of repeats the last counts.

    Pairs of a scheme that was not measured alone are left out.
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
    """The conflicts of pairs of schemes.

    Args:
        alone: Cycles of each scheme alone.
        together: float64[p], cycles of one of each of two.
    """
    pair_cycles = alone[pairs]
    shares = (together - pair_cycles.max(axis=1)) / pair_cycles.min(axis=1)
    return PairConflicts(schemes, alone, pairs, shares.clip(0.0, 1.0))


@dataclass(frozen=True, eq=False)
class ConflictMatrix:
    """Clustered conflicts.

    Attributes:
        classes: Schemes that compete with one another, in an order with competing classes adjacent.
        shares: float64[n, n] of all their schemes in this order, NaN on the diagonal and where a pair was
            not measured.
    """

    classes: tuple[tuple[str, ...], ...]
    shares: Floats

    @property
    def schemes(self) -> tuple[str, ...]:
        """All schemes, in the order of the rows."""
        return tuple(scheme for members in self.classes for scheme in members)

    def between_classes(self) -> Floats:
        """The median over pairs of two classes, or within one: float64[classes, classes].

        NaN without a pair.
        """
        bounds = np.cumsum([0, *map(len, self.classes)])
        number = len(self.classes)
        medians = np.full((number, number), np.nan)
        for first in range(number):
            for second in range(first, number):
                block = self.shares[bounds[first] : bounds[first + 1], bounds[second] : bounds[second + 1]]
                measured = block[~np.isnan(block)]
                if measured.size:
                    medians[first, second] = medians[second, first] = np.median(measured)
        return medians


def conflict_matrix(conflicts: PairConflicts, limit: int) -> ConflictMatrix:
    """The matrix of the schemes in most pairs, `limit` at most, clustered by average linkage.

    The distance of two schemes is small where they delay each other; that of two that were not measured
    together, where they delay the same schemes equally.
    """
    n_pairs = np.bincount(conflicts.pairs.ravel(), minlength=len(conflicts.schemes))
    largest = np.argsort(-n_pairs, kind="stable")[: min(limit, np.count_nonzero(n_pairs))]
    largest = largest[np.lexsort((largest, conflicts.alone[largest].round(2)))]
    row_of = np.full(len(n_pairs), -1)
    row_of[largest] = np.arange(len(largest))
    cells = row_of[conflicts.pairs]
    inside = (cells >= 0).all(axis=1)
    shares = np.full((len(largest), len(largest)), np.nan)
    for first, second in ((0, 1), (1, 0)):
        shares[cells[inside, first], cells[inside, second]] = conflicts.shares[inside]
    classes = _clusters(_distances(shares))
    order = [row for rows in classes for row in rows]
    named = tuple(tuple(conflicts.schemes[largest[row]] for row in rows) for rows in classes)
    return ConflictMatrix(named, shares[np.ix_(order, order)])


def _distances(shares: Floats) -> Floats:
    """float64[n, n]: 0 for schemes that wait for each other, 1 for those that run side by side."""
    is_measured = ~np.isnan(shares)
    distances = np.where(is_measured, 1 - shares, 1.0)
    if not is_measured[~np.eye(len(shares), dtype=bool)].all():
        _estimate(distances, shares, is_measured)
    np.fill_diagonal(distances, 0.0)
    return distances


def _estimate(distances: Floats, shares: Floats, is_measured: Bools) -> None:
    """Fill in the pairs that were not measured, by how differently both delay their common partners.

    The sum of the differences over that of the larger shares: a scheme that neither delays has no weight.
    """
    filled = np.where(is_measured, shares, 0.0)
    for row in range(len(shares)):
        unpaired, partners = np.flatnonzero(~is_measured[row]), np.flatnonzero(is_measured[row])
        partner_shares = filled[np.ix_(unpaired, partners)]
        both = is_measured[np.ix_(unpaired, partners)]
        own_shares = filled[row, partners]
        apart = np.where(both, np.abs(own_shares - partner_shares), 0.0).sum(axis=1)
        shared = np.where(both, np.maximum(own_shares, partner_shares), 0.0).sum(axis=1)
        distances[row, unpaired] = np.divide(apart, shared, out=np.ones(len(unpaired)), where=shared > 0)


def _clusters(distances: Floats) -> list[list[int]]:
    """The rows of each class; adjacent classes are near each other.

    The nearest two groups are merged until one is left. By average linkage, distances of merged groups only
    grow, so the classes are the groups that exist when first two are merged that are too far apart.
    """
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    groups = [[row] for row in range(len(apart))]
    class_of = np.arange(len(apart))
    for _ in range(len(apart) - 1):
        first, second = divmod(int(apart.argmin()), len(apart))
        if apart[first, second] <= 1 - MIN_CLASS_SHARE:
            class_of[groups[second]] = class_of[first]
        sizes = len(groups[first]), len(groups[second])
        apart[first] = apart[:, first] = np.average(apart[[first, second]], axis=0, weights=sizes)
        apart[second] = apart[:, second] = np.inf
        groups[first] += groups[second]
    leaves = groups[0] if groups else []
    classes: dict[int, list[int]] = {}
    for row in leaves:
        classes.setdefault(int(class_of[row]), []).append(row)
    return list(classes.values())
