"""Local search for the matrix that leaves least unexplained.

Each row in turn gets the cheapest port set while the others are fixed, until none changes. Then up to
`_REDRAWN` rows are set at random and improved again, and the better matrix is kept. All port sets are tried
for a row at once; with many ports, those near the current one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.cegar.problem import WASTE
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.tables import Floats, Int64s

_ROUNDS = 40  # of redrawing rows; fewer where nothing is left unexplained
_REDRAWN = 3  # rows at most in a round: a matrix must stay near the best for its rows to be worth keeping
_SWEEPS = 20  # over all rows; rows of equal cost are chosen at random, so a descent need not end by itself
_FEW_PORTS = 6  # up to which all sets are tried for a row
_WIDEST = 5  # largest port sets tried for a row of unknown width
_ROWS = 8  # an observation of more rows is skipped: its table has a line for each subset of them
_ENTRIES = 1 << 20  # of a table's lines times port sets, at once
_MAX_SETS = 1 << 12  # tried for a row at once: every set of up to 12 ports
_FORBIDDEN = 1e6  # cost of ports that the shape rules out: above that of all measurements


@dataclass(frozen=True)
class Bound:
    """A bound of an observation: its time is above, or below, `limit` cycles; violating it costs `weight`."""

    observation: int
    above: bool
    limit: float
    weight: float


class LocalSearch:
    """Local search over the matrices of one shape."""

    def __init__(
        self, shape: Shape, observations: Sequence[Observation], bounds: Sequence[Bound], seed: int
    ) -> None:
        self._shape = shape
        self._random = np.random.default_rng(seed)
        alone = {o.experiment.schemes[0]: o for o in observations if o.experiment.is_singleton}
        self._sets = [self._port_sets_of_row(row, alone) for row in range(len(shape.owners))]
        self._apart = self._rows_apart()
        self._shared = self._rows_shared()
        self._tables = [_Table(row, observations, bounds) for row in range(len(shape.owners))]
        self._all = _Table(None, observations, bounds)

    def improvements(self, pulse: Callable[[], None]) -> Iterator[Candidate]:
        """Matrices, each at least as good as the one before; the last one is the best.

        What the pulse raises ends the search at any point, the best so far having been yielded.
        """
        rows = np.array([sets.sample(self._random) for sets in self._sets], dtype=np.int64)
        best, lowest_cost = rows, self._settle(rows, pulse)
        yield _candidate(best)
        for _ in range(_ROUNDS if lowest_cost else 0):
            rows = best.copy()
            for row in self._random.choice(len(rows), min(_REDRAWN, len(rows)), replace=False):
                rows[row] = self._sets[row].sample(self._random)
            cost = self._settle(rows, pulse)
            if cost <= lowest_cost:
                best, lowest_cost = rows, cost
                yield _candidate(best)

    def _settle(self, rows: Int64s, pulse: Callable[[], None]) -> float:
        """Improve the rows in place until none changes, in at most `_SWEEPS` sweeps; returns their cost."""
        for _ in range(_SWEEPS):
            changed = False
            for row in self._random.permutation(len(rows)).tolist():
                sets = self._sets[row].near(int(rows[row]), rows)
                costs = self._tables[row].costs(rows, sets, pulse) + self._penalty(rows, row, sets)
                lowest_cost = costs.min()
                if costs[sets == rows[row]][0] > lowest_cost:
                    rows[row] = self._random.choice(sets[costs == lowest_cost])
                    changed = True
            if not changed:
                break
        forbidden = sum(float(self._penalty(rows, row, rows[row : row + 1])[0]) for row in range(len(rows)))
        return float(self._all.costs(rows, np.zeros(1, np.int64), pulse)[0]) + forbidden

    def _port_sets_of_row(self, row: int, alone: Mapping[str, Observation]) -> _PortSets:
        """The port sets of a row: the known one, or sets about as wide as the scheme's time alone suggests.

        With few ports, sets of all widths are tried, as the time alone may be what stays unexplained.
        """
        shape = self._shape
        scheme = shape.owners[row]
        if (known_mask := (shape.known or {}).get(shape.schemes[scheme])) is not None:
            return _PortSets(shape.ports, (), known_mask)
        width = (shape.widths or {}).get(shape.schemes[scheme])
        singleton = alone.get(shape.schemes[scheme])
        if width is not None:
            widths = [width]
        elif shape.ports <= _FEW_PORTS:
            widths = list(range(1, shape.ports + 1))
        elif shape.counts[scheme] > 1 or singleton is None:
            widths = list(range(1, _WIDEST + 1))
        else:
            widths = [n for n in range(1, shape.ports + 1) if _is_near(singleton, n)] or [1]
        return _PortSets(shape.ports, sorted({min(n, shape.ports) for n in widths}))

    def _penalty(self, rows: Int64s, row: int, sets: Int64s) -> Floats:
        """Cost of each set by the shape's constraints: domains that share no ports, improper schemes."""
        cost = np.zeros(len(sets))
        if self._apart[row]:
            used_ports = np.bitwise_or.reduce(rows[self._apart[row]])
            cost[(sets & used_ports) != 0] = _FORBIDDEN
        if self._shared[row]:
            cost[~np.isin(sets, rows[self._shared[row]])] += _FORBIDDEN
        return cost

    def _rows_apart(self) -> list[list[int]]:
        """For every row, the rows that may not share a port with it."""
        shape = self._shape
        rows_apart: list[list[int]] = [[] for _ in shape.owners]
        for pair in shape.apart:
            for first, second in (pair, pair[::-1]):
                for scheme in first & shape.index.keys():
                    rows = [row for s in second & shape.index.keys() for row in shape.rows_of[shape.index[s]]]
                    for row in shape.rows_of[shape.index[scheme]]:
                        rows_apart[row] += sorted(rows)
        return rows_apart

    def _rows_shared(self) -> list[list[int]]:
        """For the first row of every improper scheme, the rows one of which it must equal; else empty."""
        shape = self._shape
        proper = [rows[0] for rows in shape.rows_of if len(rows) == 1]
        shared_rows: list[list[int]] = [[] for _ in shape.owners]
        for scheme in shape.improper:
            if scheme in shape.index:
                shared_rows[shape.rows_of[shape.index[scheme]][0]] = proper
        return shared_rows


def _candidate(rows: Int64s) -> Candidate:
    return tuple(int(mask) for mask in rows)


def _is_near(alone: Observation, width: int) -> bool:
    """Whether one µop on so many ports takes about as long as was measured."""
    return 1 / width < alone.high and (alone.low is None or 1 / width > alone.low * (1 - WASTE))


class _PortSets:
    """The port sets that a row may have: all of some widths, or a known one."""

    def __init__(self, ports: int, widths: Sequence[int], known_mask: int | None = None) -> None:
        self._ports = ports
        self._widths = np.array(widths, dtype=np.int64)
        self._all: Int64s | None = None
        if known_mask is not None:
            self._all = np.array([known_mask], dtype=np.int64)
        elif sum(math.comb(ports, width) for width in widths) <= _MAX_SETS:
            self._all = self._filter_widths(np.arange(1, 1 << ports, dtype=np.int64))

    def sample(self, random: np.random.Generator) -> int:
        if self._all is not None:
            return int(random.choice(self._all))
        ports = random.choice(self._ports, int(random.choice(self._widths)), replace=False)
        return int(np.bitwise_or.reduce(1 << ports))

    def near(self, row: int, rows: Int64s) -> Int64s:
        """All sets; of too many, other rows' sets and those that differ from `row` in 1 or 2 ports."""
        if self._all is not None:
            return self._all
        single = np.array([0, *(1 << port for port in range(self._ports))], dtype=np.int64)
        changed = row ^ (single[:, None] | single)
        return self._filter_widths(np.unique(np.append(changed, rows)))

    def _filter_widths(self, masks: Int64s) -> Int64s:
        return masks[np.isin(np.bitwise_count(masks), self._widths)]


class _Table:
    """The closed form (§5.1.4) of all observations, or of those with one row: a line per set of rows.

    An observation's time is the maximum over its lines of mass / ports that the line's rows have together.
    Lines of one observation are next to each other, so that one `reduceat` takes all maxima.
    """

    def __init__(self, row: int | None, observations: Sequence[Observation], bounds: Sequence[Bound]) -> None:
        self._row = row
        used = [
            k for k, o in enumerate(observations) if len(o.work) <= _ROWS and (row is None or row in o.work)
        ]
        number = {k: n for n, k in enumerate(used)}
        lines = [  # (number of the observation, set of rows, their mass in µops)
            (number[k], subset, sum(observations[k].work[r] for r in subset))
            for k in used
            for size in range(1, len(observations[k].work) + 1)
            for subset in itertools.combinations(sorted(observations[k].work), size)
        ]
        longest = max((len(subset) for _, subset, _ in lines), default=1)
        # Padded with -1, which `costs` resolves to an additional row without ports.
        self._other_rows = np.full((len(lines), longest), -1, np.int64)
        self._has_row = np.zeros(len(lines), bool)
        for at, (_, subset, _) in enumerate(lines):
            other_rows = [r for r in subset if r != row]
            self._other_rows[at, : len(other_rows)] = other_rows
            self._has_row[at] = row in subset
        self._mass = np.array([mass for _, _, mass in lines], dtype=float)
        self._starts = np.array(
            [at for at, line in enumerate(lines) if at == 0 or lines[at - 1][0] != line[0]]
        )
        own_bounds = [bound for bound in bounds if bound.observation in number]
        self._owners = np.array([number[bound.observation] for bound in own_bounds], dtype=np.int64)
        self._limits = np.array([bound.limit for bound in own_bounds])
        self._above = np.array([bound.above for bound in own_bounds], dtype=bool)
        self._weights = np.array([bound.weight for bound in own_bounds])

    def costs(self, rows: Int64s, sets: Int64s, pulse: Callable[[], None]) -> Floats:
        """Weight of the violated bounds for each of the row's sets: float64[n_sets]."""
        pulse()
        if not len(self._mass):
            return np.zeros(len(sets))
        padded = np.append(rows, 0)  # row -1, which the table's padding names, has no ports
        other_masks = np.bitwise_or.reduce(padded[self._other_rows], axis=1)
        step = max(1, _ENTRIES // len(other_masks))
        parts = []
        for at in range(0, len(sets), step):
            pulse()
            parts.append(self._broken_weight(other_masks, sets[at : at + step]))
        return np.concatenate(parts)

    def _broken_weight(self, other_masks: Int64s, sets: Int64s) -> Floats:
        """Weight of the violated bounds for each set; `other_masks`: ports of each line without the row."""
        masks = np.where(self._has_row, sets[:, None], 0) | other_masks  # int64[sets, lines]
        line_cycles = self._mass / np.bitwise_count(masks)
        cycles = np.maximum.reduceat(line_cycles, self._starts, axis=1)  # float64[sets, observations]
        cycles_of_bounds = cycles[:, self._owners]
        broken = np.where(self._above, cycles_of_bounds <= self._limits, cycles_of_bounds >= self._limits)
        return np.asarray(broken @ self._weights)
