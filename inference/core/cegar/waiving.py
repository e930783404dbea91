"""Which measurements to leave unexplained where no mapping explains all of them.

Ports are a lower bound on the time: a core never beats it, but misses it a little wherever it chose the ports
of its µops unluckily. So what a measurement says falls into claims of different weight: a mapping takes no
longer; not much less; only a little less; not less at all. Of the claims that contradict one another, those
that weigh least together are waived.

A local search finds them. Where they are few, implicit hitting sets prove it: a minimal clash is sought, the
claims that hit all clashes so far at the least weight are waived, until no clash is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from inference.core.arrays import Floats, Int64s
from inference.core.cegar.clashing import contradicting, impossible, minimal
from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.formula import Formula, Literal
from inference.core.cegar.problem import WASTE
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.experiment import Experiment

# The matrix that leaves least unexplained, by local search: where contradictions are too many to be proven.
#
# One row after another gets the port set that costs least beside the others, until none changes; then some
# rows are drawn anew, and what is better is kept. All sets of ports are tried for a row at once.


_ROUNDS = 40
_REDRAWN = 3  # rows at most
_SWEEPS = 20
_FEW_PORTS = 6  # up to which all sets are tried for a row
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
        """The port sets of a row: what is said beforehand, or about as wide as the scheme alone lets expect.

        Of few ports all sets are tried: what a scheme takes alone may be what is best left unexplained.
        """
        shape = self._shape
        scheme = shape.owners[row]
        if (known := (shape.known or {}).get(shape.schemes[scheme])) is not None:
            return np.array([known], dtype=np.int64)
        width = (shape.widths or {}).get(shape.schemes[scheme])
        seen = alone.get(shape.schemes[scheme])
        if width is not None:
            widths = [width]
        elif shape.ports <= _FEW_PORTS:
            widths = list(range(1, shape.ports + 1))
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


FEW = 5  # claims waived, up to which it is proven that no fewer will do
CLASHES = 30  # that a proof may take


class Claim(Enum):
    """What a measurement says of the time that a mapping predicts: (share of it that may be lost, weight)."""

    NOT_LONGER = None, 100
    NOT_LESS = Fraction(0), 1
    LITTLE_LESS = WASTE / 3, 1
    SOME_LESS = 2 * WASTE / 3, 1
    NOT_MUCH_LESS = WASTE, 100

    def __init__(self, waste: Fraction | None, weight: int) -> None:
        self.waste = waste
        self.weight = weight


LESS = tuple(claim for claim in Claim if claim.waste is not None)
"""Those of the least time, the strictest first."""

ALONE = 5
"""How many times heavier claims are of a scheme measured alone: all others are read by these."""

Waived = frozenset[tuple[Experiment, Claim]]


def without(observation: Observation, waived: Set[tuple[Experiment, Claim]]) -> Observation | None:
    """What is left of an observation; None for nothing."""
    experiment = observation.experiment
    least = (_less(observation, claim) for claim in LESS if (experiment, claim) not in waived)
    low = next(least, None)
    bounded = (experiment, Claim.NOT_LONGER) not in waived
    if low is None and not bounded:
        return None
    return replace(observation, low=low, high=observation.high if bounded else observation.no_limit)


@dataclass(frozen=True)
class Waiver:
    """The claims to waive for the least weight, that weight, and all experiments that contradict one another.

    `waived` is None where it would weigh more than it may.
    """

    waived: Waived | None
    weight: int
    clashing: frozenset[Experiment]


def least_waiver(
    shape: Shape,
    observations: Sequence[Observation],
    seed: int,
    limit: int,
    pulse: Callable[[], None],
    most: int | None = None,
) -> Waiver:
    """What to waive so that a mapping of this shape explains the rest, weighing no more than `most`.

    Raises `InvalidInputError` where no measurement is needed for a contradiction.
    """
    _, found = descended(shape, observations, seed, pulse)
    if found.waived is not None and len(found.waived) > FEW:
        return found if most is None or found.weight <= most else replace(found, waived=None)
    search = _Proof(Formula(shape, seed, limit, pulse), observations, pulse)
    try:
        return search.least(most) or found
    finally:
        search.close()


def descended(
    shape: Shape, observations: Sequence[Observation], seed: int, pulse: Callable[[], None]
) -> tuple[Candidate, Waiver]:
    """The best matrix that a local search finds, and what it leaves unexplained."""
    claims = [(k, claim, alone) for k, each in enumerate(observations) for claim, alone in _claims(each)]
    bounds = [
        Bound(
            k,
            above=alone.low is not None,
            limit=float(alone.high if alone.low is None else alone.low),
            weight=_weight(alone.experiment, claim),
        )
        for k, claim, alone in claims
    ]
    best, _ = Descent(shape, observations, bounds, seed).best(pulse)
    broken = [(alone.experiment, claim) for _, claim, alone in claims if not alone.holds(best)]
    weight = sum(itertools.starmap(_weight, broken))
    return best, Waiver(frozenset(broken), weight, frozenset(experiment for experiment, _ in broken))


def _weight(experiment: Experiment, claim: Claim) -> int:
    return claim.weight * (ALONE if experiment.is_singleton else 1)


class _Proof:
    """Implicit hitting sets."""

    def __init__(
        self, formula: Formula, observations: Sequence[Observation], pulse: Callable[[], None]
    ) -> None:
        self._pulse = pulse
        self._encoding = ClosedForm(formula)
        self.close = self._encoding.close
        self._claims: dict[Literal, tuple[Experiment, Claim]] = {}
        self._says: dict[Literal, Observation] = {}
        for observation in observations:
            for claim, alone in _claims(observation):
                literal = formula.literal()
                self._claims[literal] = observation.experiment, claim
                self._says[literal] = alone
                self._encoding.add(alone, -literal)

    def least(self, most: int | None) -> Waiver | None:
        """See `least_waiver`; None where it takes too many clashes."""
        clashes: list[frozenset[Literal]] = []
        waived: frozenset[Literal] = frozenset()
        while (weight := sum(map(self._weight, waived))) <= (weight if most is None else most):
            clash = contradicting(self._encoding, self._says, self._says.keys() - waived)
            if clash is None:
                return Waiver(self._named(waived), weight, self._experiments(clashes))
            clash = minimal(self._encoding, self._says, clash)
            if not clash and most is None:
                raise impossible(self._encoding.formula.shape)
            if not clash:
                break
            clashes.append(frozenset(clash))
            if len(clashes) > CLASHES:
                return None
            waived = self._lightest(clashes)
            self._pulse()
        return Waiver(None, weight, self._experiments(clashes))

    def _named(self, literals: Iterable[Literal]) -> Waived:
        return frozenset(self._claims[each] for each in literals)

    def _experiments(self, clashes: Iterable[Iterable[Literal]]) -> frozenset[Experiment]:
        return frozenset(self._claims[each][0] for clash in clashes for each in clash)

    def _weight(self, literal: Literal) -> int:
        return _weight(*self._claims[literal])

    def _lightest(self, clashes: Sequence[Set[Literal]]) -> frozenset[Literal]:
        """The lightest claims of which every clash has one: a small integer program."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, and seldom needed

        literals = sorted(set().union(*clashes))
        rows = np.array([[literal in clash for literal in literals] for clash in clashes], dtype=float)
        solved = milp(
            np.array([self._weight(literal) for literal in literals], dtype=float),
            integrality=np.ones(len(literals)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(rows, lb=1.0),
        )
        return frozenset(literal for literal, chosen in zip(literals, solved.x, strict=True) if chosen > 0.5)


def _claims(observation: Observation) -> Iterator[tuple[Claim, Observation]]:
    """What an observation says, one claim at a time."""
    yield Claim.NOT_LONGER, replace(observation, low=None)
    if observation.low is not None:
        for claim in LESS:
            yield claim, replace(observation, low=_less(observation, claim), high=observation.no_limit)


def _less(observation: Observation, claim: Claim) -> Fraction | None:
    """The least time that a claim allows."""
    assert claim.waste is not None
    return None if observation.low is None else observation.low * (1 - claim.waste)


def reduced(observations: Iterable[Observation], waived: Waived) -> list[Observation]:
    """The observations as far as they are to be explained."""
    left = (without(observation, waived) for observation in observations)
    return [observation for observation in left if observation is not None]
