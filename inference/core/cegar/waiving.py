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
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from inference.core.cegar.clashing import contradicting, impossible, minimal
from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.descent import Bound, Descent
from inference.core.cegar.formula import Formula, Literal
from inference.core.cegar.problem import WASTE
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.experiment import Experiment

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
    found = left_by(observations, [*descended(shape, observations, seed, pulse)][-1])
    if found.waived is not None and len(found.waived) > FEW:
        return found if most is None or found.weight <= most else replace(found, waived=None)
    search = _Proof(Formula(shape, seed, limit, pulse), observations, pulse)
    try:
        return search.least(most) or found
    finally:
        search.close()


def descended(
    shape: Shape, observations: Sequence[Observation], seed: int, pulse: Callable[[], None]
) -> Iterator[Candidate]:
    """Matrices that a local search finds, the best one last; see `Descent.improvements`."""
    bounds = [
        Bound(
            k,
            above=alone.low is not None,
            limit=float(alone.high if alone.low is None else alone.low),
            weight=_weight(alone.experiment, claim),
        )
        for k, observation in enumerate(observations)
        for claim, alone in _claims(observation)
    ]
    return Descent(shape, observations, bounds, seed).improvements(pulse)


def left_by(observations: Iterable[Observation], candidate: Candidate) -> Waiver:
    """What a matrix leaves unexplained."""
    broken = frozenset(
        (observation.experiment, claim)
        for observation in observations
        for claim, alone in _claims(observation)
        if not alone.holds(candidate)
    )
    weight = sum(itertools.starmap(_weight, broken))
    return Waiver(broken, weight, frozenset(experiment for experiment, _ in broken))


def _weight(experiment: Experiment, claim: Claim) -> int:
    return claim.weight * (ALONE if experiment.is_singleton else 1)


class _Proof:
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
