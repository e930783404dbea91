"""Measurements as Boolean constraints, without the linear program's real variables.

By the closed form over µops (thesis §5.1.4) tp⁻¹(e) = max over sets T of e's µops of mass(T) / |ports of T|.
So tp⁻¹(e) < high says of every T that it has more than mass(T) / high ports, and tp⁻¹(e) > low says of some T
that it has fewer than mass(T) / low. Both are about the sizes of unions of rows.

- "Every T" is stated for small experiments at once, for others when a candidate violates it.
- "Some T" is a choice of rows and of a set of ports that confines them, the j and q of Theorem 4.4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from inference.core.cegar.formula import Formula, Literal
from inference.core.cegar.shape import Candidate, Observation

EAGER_ROWS = 5
"""µops in an experiment up to which "every T" is stated at once: that is 2^5 - 1 = 31 constraints."""

CUTS = 3
"""Constraints stated per candidate and observation that it violates; the most violated ones."""


class ClosedForm:
    """A solver for matrices that explain the observations added and are not excluded."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._observations: list[tuple[Observation, tuple[Literal, ...]]] = []  # with their `unless`
        self._stated: set[tuple[tuple[int, ...], int, tuple[Literal, ...]]] = set()  # (rows, ports, unless)

    def add(self, observation: Observation, *unless: Literal) -> None:
        """Require the matrix to explain this observation, unless one of the literals holds."""
        self._observations.append((observation, unless))
        rows = tuple(sorted(observation.work))
        sizes: Iterable[int] = range(1, len(rows) + 1) if len(rows) <= EAGER_ROWS else (1, len(rows))
        for subset in itertools.chain.from_iterable(itertools.combinations(rows, k) for k in sizes):
            self._spread(observation, subset, unless)
        if observation.low is not None:
            self._confine(observation, rows, unless)

    def exclude(self, candidate: Candidate) -> None:
        """Exclude this matrix from later answers."""
        self.formula.clause(*self.formula.differs(candidate))

    def find(self, *assumptions: Literal) -> Candidate | None:
        """A matrix that explains all observations under the assumptions; None for none."""
        while self.formula.satisfiable(*assumptions):
            candidate = self.formula.candidate()
            if not self._refine(candidate):
                return candidate
        return None

    def close(self) -> None:
        self.formula.solver.close()

    def _spread(self, observation: Observation, rows: tuple[int, ...], unless: tuple[Literal, ...]) -> bool:
        """State that these rows have enough ports to take less than `high` cycles; False if stated before."""
        mass = sum(observation.work[row] for row in rows)
        if not observation.high:  # no mapping takes less than 0 cycles: only `unless` is left
            self.formula.clause(*unless)
            return True
        lower_bound = math.floor(mass / observation.high) + 1  # mass / ports < high, strictly
        key = (rows, lower_bound, unless)
        if lower_bound <= 1 or key in self._stated:
            return False
        self._stated.add(key)
        self.formula.at_least(self.formula.union(rows), lower_bound, *unless)
        return True

    def _confine(self, observation: Observation, rows: tuple[int, ...], unless: tuple[Literal, ...]) -> None:
        """State that some rows are confined to so few ports that they take more than `low` cycles."""
        assert observation.low is not None
        formula, ports = self.formula, self.formula.shape.ports
        if len(rows) == 1:
            (row,) = rows
            formula.at_most(
                formula.matrix[row], math.ceil(observation.work[row] / observation.low) - 1, *unless
            )
            return
        confined = {row: formula.literal() for row in rows}  # the choice of rows, j of Theorem 4.4
        full = [formula.literal() for _ in range(ports)]  # the choice of ports, q
        for row in rows:  # a confined row has no port that was not chosen
            for literal, port in zip(formula.matrix[row], full, strict=True):
                formula.clause(-confined[row], -literal, port)
        # One choice per number of ports. A choice implies that the ports chosen are no more, and that the
        # confined rows are heavy enough to take more than `low` cycles on so many.
        total, choices = sum(observation.work.values()), []
        for width in range(1, ports + 1):
            lower_bound = math.floor(observation.low * width) + 1
            if lower_bound > total:
                break
            choice = formula.literal()
            choices.append(choice)
            formula.at_most(full, width, -choice)
            terms = [(confined[row], observation.work[row]) for row in rows]
            formula.weighs(terms, lower_bound, -choice)
        formula.clause(*unless, *choices)

    def _refine(self, candidate: Candidate) -> bool:
        """State the constraints that the candidate violates; whether there were any."""
        stated = False
        for observation, unless in self._observations:
            if any(self.formula.holds(literal) for literal in unless):
                continue
            self.formula.pulse()
            tight = [
                (-mass / width, rows)
                for rows, mass, width in observation.bounds(candidate)
                if mass >= observation.high * width
            ]
            for _, rows in sorted(tight)[:CUTS]:
                stated |= self._spread(observation, tuple(sorted(rows)), unless)
        return stated
