"""The matrix that leaves least unexplained, by local search: where contradictions are too many to be proven.

One row after another gets the port set that costs least beside the others, until none changes; then some rows
are drawn anew, and what is better is kept. All sets of ports are tried for a row at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.cegar.problem import WASTE
from inference.core.cegar.shape import Candidate, Observation, Shape

_ROUNDS = 40
_REDRAWN = 3  # rows at most
_SWEEPS = 20
_WIDEST = 5  # sets tried for a row of which nothing tells how wide it is
_ROWS = 8  # of an observation that is looked at: a line for each of their subsets
_ENTRIES = 1 << 20  # of a table's lines times port sets, at once
_FORBIDDEN = 1e6  # what is said beforehand of ports weighs more than any measurement


@dataclass(frozen=True)
class Bound:
    """A claim of an observation: its time is above, or below, `limit` cycles; breaking it costs `weight`."""

    observation: int
    above: bool
    limit: float
    weight: float


class Descent:
    """Local search over the matrices of one shape."""

    def __init__(
        self, shape: Shape, observations: Sequence[Observation], bounds: Sequence[Bound], seed: int
    ) -> None:
        self._shape = shape
        self._random = np.random.default_rng(seed)
        alone = {each.experiment.schemes[0]: each for each in observations if each.experiment.is_singleton}
        self._sets = [self._allowed(row, alone) for row in range(len(shape.owners))]
        self._apart = self._rows_apart()
        self._shared = self._rows_shared()
        self._tables = [_Table(row, observations, bounds) for row in range(len(shape.owners))]
        self._all = _Table(None, observations, bounds)

    def best(self, pulse: Callable[[], None]) -> tuple[Candidate, float]:
        """The best matrix found, and what it leaves unexplained weighs."""
        rows = np.array([self._random.choice(sets) for sets in self._sets], dtype=np.int64)
        best, least = rows, self._settle(rows, pulse)
        for _ in range(_ROUNDS if least else 0):
            rows = best.copy()
            for row in self._random.choice(len(rows), min(_REDRAWN, len(rows)), replace=False):
                rows[row] = self._random.choice(self._sets[row])
            cost = self._settle(rows, pulse)
            if cost <= least:
                best, least = rows, cost
        return tuple(int(mask) for mask in best), least

    def _settle(self, rows: Int64s, pulse: Callable[[], None]) -> float:
        """Improve the rows in place; what they cost then."""
        for _ in range(_SWEEPS):
            changed = False
            for row in self._random.permutation(len(rows)).tolist():
                pulse()
                sets = self._sets[row]
                costs = self._tables[row].costs(rows, sets) + self._forbidden(rows, row, sets)
                least = costs.min()
                if costs[sets == rows[row]][0] > least:
                    rows[row] = self._random.choice(sets[costs == least])
                    changed = True
            if not changed:
                break
        forbidden = sum(float(self._forbidden(rows, row, rows[row : row + 1])[0]) for row in range(len(rows)))
        return float(self._all.costs(rows, np.zeros(1, np.int64))[0]) + forbidden

    def _allowed(self, row: int, alone: Mapping[str, Observation]) -> Int64s:
        """The port sets of a row: as wide as is said beforehand, or about as the scheme alone lets expect."""
        shape = self._shape
        scheme = shape.owners[row]
        width = (shape.widths or {}).get(shape.schemes[scheme])
        seen = alone.get(shape.schemes[scheme])
        if width is not None:
            widths = [width]
        elif shape.counts[scheme] > 1 or seen is None:
            widths = list(range(1, _WIDEST + 1))
        else:
            widths = [n for n in range(1, shape.ports + 1) if _is_near(seen, n)] or [1]
        masks = np.arange(1, 1 << shape.ports, dtype=np.int64)
        return masks[np.isin(np.bitwise_count(masks), [min(n, shape.ports) for n in widths])]

    def _forbidden(self, rows: Int64s, row: int, sets: Int64s) -> Floats:
        """What each set would cost beside what measurements say."""
        cost = np.zeros(len(sets))
        if self._apart[row]:
            taken = np.bitwise_or.reduce(rows[self._apart[row]])
            cost[(sets & taken) != 0] = _FORBIDDEN
        if self._shared[row]:
            cost[~np.isin(sets, rows[self._shared[row]])] += _FORBIDDEN
        return cost

    def _rows_apart(self) -> list[list[int]]:
        """For every row those that it shares no port with."""
        shape = self._shape
        found: list[list[int]] = [[] for _ in shape.owners]
        for pair in shape.apart:
            for one, other in (pair, pair[::-1]):
                for scheme in one & shape.index.keys():
                    rows = [row for s in other & shape.index.keys() for row in shape.rows_of[shape.index[s]]]
                    for row in shape.rows_of[shape.index[scheme]]:
                        found[row] += sorted(rows)
        return found

    def _rows_shared(self) -> list[list[int]]:
        """For the first row of every improper scheme those with whose ports it must have one in common."""
        shape = self._shape
        proper = [rows[0] for rows in shape.rows_of if len(rows) == 1]
        found: list[list[int]] = [[] for _ in shape.owners]
        for scheme in shape.improper:
            if scheme in shape.index:
                found[shape.rows_of[shape.index[scheme]][0]] = proper
        return found


def _is_near(alone: Observation, width: int) -> bool:
    """Whether one µop on so many ports takes about as long as was measured."""
    return 1 / width < alone.high and (alone.low is None or 1 / width > alone.low * (1 - WASTE))


class _Table:
    """The closed form of all observations, or of those that a row takes part in: a line per set of rows."""

    def __init__(self, row: int | None, observations: Sequence[Observation], bounds: Sequence[Bound]) -> None:
        self._row = row
        used = [
            k
            for k, each in enumerate(observations)
            if len(each.work) <= _ROWS and (row is None or row in each.work)
        ]
        number = {k: n for n, k in enumerate(used)}
        lines = [
            (number[k], chosen, sum(observations[k].work[r] for r in chosen))
            for k in used
            for size in range(1, len(observations[k].work) + 1)
            for chosen in itertools.combinations(sorted(observations[k].work), size)
        ]
        longest = max((len(chosen) for _, chosen, _ in lines), default=1)
        self._others = np.full((len(lines), longest), -1, np.int64)
        self._has_row = np.zeros(len(lines), bool)
        for at, (_, chosen, _) in enumerate(lines):
            others = [r for r in chosen if r != row]
            self._others[at, : len(others)] = others
            self._has_row[at] = row in chosen
        self._mass = np.array([mass for _, _, mass in lines], dtype=float)
        self._starts = np.array(
            [at for at, line in enumerate(lines) if at == 0 or lines[at - 1][0] != line[0]]
        )
        mine = [bound for bound in bounds if bound.observation in number]
        self._of = np.array([number[bound.observation] for bound in mine], dtype=np.int64)
        self._limits = np.array([bound.limit for bound in mine])
        self._above = np.array([bound.above for bound in mine], dtype=bool)
        self._weights = np.array([bound.weight for bound in mine])

    def costs(self, rows: Int64s, sets: Int64s) -> Floats:
        """Weight of the claims broken with each of the sets for the row, float64[n_sets]."""
        if not len(self._mass):
            return np.zeros(len(sets))
        padded = np.append(rows, 0)
        others = np.bitwise_or.reduce(padded[self._others], axis=1)
        step = max(1, _ENTRIES // len(others))
        parts = [self._broken(others, sets[at : at + step]) for at in range(0, len(sets), step)]
        return np.concatenate(parts)

    def _broken(self, others: Int64s, sets: Int64s) -> Floats:
        masks = np.where(self._has_row, sets[:, None], 0) | others
        times = np.maximum.reduceat(self._mass / np.bitwise_count(masks), self._starts, axis=1)[:, self._of]
        broken = np.where(self._above, times <= self._limits, times >= self._limits)
        return np.asarray(broken @ self._weights)
