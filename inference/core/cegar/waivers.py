"""The measurements to leave unexplained where no mapping explains all of them.

Ports bound times from below; a core exceeds the bound where it chooses the ports of its µops badly. So a
measurement consists of claims of different weight: the predicted time is no longer; not much shorter; only a
little shorter; not shorter at all. Of contradicting claims, those with the least total weight are waived.

A local search finds them. Where they are few, implicit hitting sets prove that none weigh less: minimal
clashes are collected, and the lightest claims that hit all of them are waived, until no clash is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from inference.core.cegar.clashes import contradicting_literals, impossible_shape_error, minimize_clash
from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.formula import Formula, Literal
from inference.core.cegar.local_search import Bound, LocalSearch
from inference.core.cegar.problem import WASTE
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.experiment import Experiment

FEW = 5
"""Claims waived, up to which it is proven that no lighter ones will do: a proof takes exponentially long."""

CLASHES = 30
"""Clashes at most in a proof; beyond these, the result of the local search counts."""


class Claim(Enum):
    """A bound on the time that a mapping predicts: (share of the measured time that may be lost, weight).

    A core cannot be quicker than its ports allow, nor lose more than `WASTE`: violating either contradicts
    the port model, and weighs as much as 100 violations that a scheduler may explain.
    """

    NOT_LONGER = None, 100
    NOT_LESS = Fraction(0), 1
    LITTLE_LESS = WASTE / 3, 1
    SOME_LESS = 2 * WASTE / 3, 1
    NOT_MUCH_LESS = WASTE, 100

    def __init__(self, waste: Fraction | None, weight: int) -> None:
        self.waste = waste
        self.weight = weight


LESS = tuple(claim for claim in Claim if claim.waste is not None)
"""Claims on the least time, the strictest first."""

ALONE = 5
"""Factor on the weight of a scheme measured alone: the other measurements are interpreted by these."""

Waived = frozenset[tuple[Experiment, Claim]]


def without_waived(observation: Observation, waived: Set[tuple[Experiment, Claim]]) -> Observation | None:
    """The observation without the waived claims; None where nothing is left."""
    experiment = observation.experiment
    reduced = (_less(observation, claim) for claim in LESS if (experiment, claim) not in waived)
    low = next(reduced, None)
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
    max_weight: int | None = None,
) -> Waiver:
    """The lightest claims to waive so that a mapping of this shape explains the rest.

    Args:
        max_weight: Largest weight that may be waived; None for any.

    Raises:
        InvalidInputError: The shape has no mapping even without measurements.
    """
    waiver = waiver_for(observations, [*search_locally(shape, observations, seed, pulse)][-1])
    if waiver.waived is not None and len(waiver.waived) > FEW:
        return waiver if max_weight is None or waiver.weight <= max_weight else replace(waiver, waived=None)
    search = _Proof(Formula(shape, seed, limit, pulse), observations, pulse)
    try:
        return search.least(max_weight) or waiver
    finally:
        search.close()


def search_locally(
    shape: Shape, observations: Sequence[Observation], seed: int, pulse: Callable[[], None]
) -> Iterator[Candidate]:
    """Matrices of a local search, each at least as good as the one before; see `LocalSearch.improvements`."""
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
    return LocalSearch(shape, observations, bounds, seed).improvements(pulse)


def waiver_for(observations: Iterable[Observation], candidate: Candidate) -> Waiver:
    """The claims that a matrix violates, as a waiver."""
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
    """The search for the lightest waiver by implicit hitting sets; each claim is an assumption of z3's."""

    def __init__(
        self, formula: Formula, observations: Sequence[Observation], pulse: Callable[[], None]
    ) -> None:
        self._pulse = pulse
        self._encoding = ClosedForm(formula)
        self.close = self._encoding.close
        self._claims: dict[Literal, tuple[Experiment, Claim]] = {}
        self._observations: dict[Literal, Observation] = {}
        for observation in observations:
            for claim, alone in _claims(observation):
                literal = formula.literal()
                self._claims[literal] = observation.experiment, claim
                self._observations[literal] = alone
                self._encoding.add(alone, -literal)

    def least(self, max_weight: int | None) -> Waiver | None:
        """See `least_waiver`; None where it takes more than `CLASHES` clashes."""
        clashes: list[frozenset[Literal]] = []
        waived: frozenset[Literal] = frozenset()
        while (weight := sum(map(self._weight, waived))) <= (weight if max_weight is None else max_weight):
            clash = contradicting_literals(
                self._encoding, self._observations, self._observations.keys() - waived
            )
            if clash is None:
                return Waiver(self._waived_claims(waived), weight, self._experiments(clashes))
            clash = minimize_clash(self._encoding, self._observations, clash)
            if not clash and max_weight is None:
                raise impossible_shape_error(self._encoding.formula.shape)
            if not clash:
                break
            clashes.append(frozenset(clash))
            if len(clashes) > CLASHES:
                return None
            waived = self._lightest(clashes)
            self._pulse()
        return Waiver(None, weight, self._experiments(clashes))

    def _waived_claims(self, literals: Iterable[Literal]) -> Waived:
        return frozenset(self._claims[literal] for literal in literals)

    def _experiments(self, clashes: Iterable[Iterable[Literal]]) -> frozenset[Experiment]:
        return frozenset(self._claims[literal][0] for clash in clashes for literal in clash)

    def _weight(self, literal: Literal) -> int:
        return _weight(*self._claims[literal])

    def _lightest(self, clashes: Sequence[Set[Literal]]) -> frozenset[Literal]:
        """The lightest set of claims that hits every clash, by a small integer program."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # half a second, and seldom needed

        literals = sorted(set().union(*clashes))
        rows = np.array([[literal in clash for literal in literals] for clash in clashes], dtype=float)
        solved = milp(
            np.array([self._weight(literal) for literal in literals], dtype=float),
            integrality=np.ones(len(literals)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(rows, lb=1.0),
        )
        return frozenset(literal for literal, value in zip(literals, solved.x, strict=True) if value > 0.5)


def _claims(observation: Observation) -> Iterator[tuple[Claim, Observation]]:
    """The claims of an observation, each as an observation of its own."""
    yield Claim.NOT_LONGER, replace(observation, low=None)
    if observation.low is not None:
        for claim in LESS:
            yield claim, replace(observation, low=_less(observation, claim), high=observation.no_limit)


def _less(observation: Observation, claim: Claim) -> Fraction | None:
    """The least time that a claim allows."""
    assert claim.waste is not None
    return None if observation.low is None else observation.low * (1 - claim.waste)


def reduce_observations(observations: Iterable[Observation], waived: Waived) -> list[Observation]:
    """The observations without the waived claims."""
    remaining = (without_waived(observation, waived) for observation in observations)
    return [observation for observation in remaining if observation is not None]
