"""Measurements as the thesis states them: the linear program with its optimality, Theorem 4.4 (§4.2, §4.4).

Each measurement is one instance of `relateThroughput` (Definition 4.5, Figure 4.5 for several µops) with its
experiment hardwired. The second mapping is searched together with a free experiment, of few instructions
first and of any number last (§4.3). This encoding is slow; it exists to validate the closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from inference.core.cegar.formula import Formula
from inference.core.cegar.shape import Candidate, Observation, Shape
from inference.core.experiment import Experiment

MAX_BOUNDED_LENGTH = 6
"""Instructions in the free experiment before its length is no longer bounded."""

Term = Any
"""A z3 expression; z3 has no types of its own."""


class LinearQuestions:
    """`Questions` in linear arithmetic, without symmetry breaking."""

    aside_limit = 0  # the second mapping always comes with its experiment

    def __init__(self, shape: Shape, seed: int, limit: int, pulse: Callable[[], None]) -> None:
        import z3  # loads z3

        self._z3: Any = z3
        self._shape = shape
        self._formula = Formula(shape, seed, limit, pulse, kind="", ordered=False)
        self._solver = self._formula.solver
        self._context = self._solver.context
        self._matrix = [[self._formula.term(literal) for literal in row] for row in self._formula.matrix]
        self._names = 0

    def add(self, observation: Observation) -> None:
        """See `Questions`; |t - measured| < ε·|e| with t = max(tp⁻¹, |e| / R_max)."""
        counts = [observation.work.get(row, 0) for row in range(len(self._matrix))]
        time = self._real()
        self._relate(self._matrix, [self._number(Fraction(count)) for count in counts], time)
        self._solver.z3.add(time < self._number(observation.high))
        if observation.low is not None:
            self._solver.z3.add(time > self._number(observation.low))

    def exclude(self, candidate: Candidate) -> None:
        self._formula.clause(*self._formula.differs(candidate))

    def find_candidate(self) -> Candidate | None:
        return self._formula.candidate() if self._formula.satisfiable() else None

    def find_second(self, first: Candidate) -> tuple[Candidate, Experiment | None] | None:
        """See `Questions`; with bounds on the length first, as in §4.3."""
        for longest in (*range(1, MAX_BOUNDED_LENGTH + 1), None):
            self._solver.z3.push()
            try:
                counts = self._free_experiment(longest)
                self._differ(first, counts)
                if self._solver.satisfiable():
                    return self._formula.candidate(), self._experiment(counts)
            finally:
                self._solver.z3.pop()
        return None

    def close(self) -> None:
        self._solver.close()

    def _free_experiment(self, longest: int | None) -> list[Term]:
        counts = [self._z3.Int(self._name(), self._context) for _ in self._shape.schemes]
        self._solver.z3.add(*(count >= 0 for count in counts), self._z3.Sum(counts) >= 1)
        if longest is not None:
            self._solver.z3.add(self._z3.Sum(counts) <= longest)
        return counts

    def _differ(self, first: Candidate, counts: Sequence[Term]) -> None:
        """The hardwired mapping and the free one differ by more than 2ε cycles per instruction."""
        z3 = self._z3
        work = [z3.ToReal(counts[owner]) for owner in self._shape.owners]
        length = z3.ToReal(z3.Sum(counts))
        hardwired = [
            [z3.BoolVal(bool(mask >> port & 1), self._context) for port in range(self._shape.ports)]
            for mask in first
        ]
        times = []
        for matrix in (hardwired, self._matrix):
            time = self._real()
            self._relate(matrix, work, time)
            floor = self._number(self._shape.floor) * length
            times.append(z3.If(time >= floor, time, floor))
        margin = self._number(self._shape.margin) * length
        self._solver.z3.add(z3.Or(times[0] - times[1] > margin, times[1] - times[0] > margin))

    def _relate(self, matrix: Sequence[Sequence[Term]], work: Sequence[Term], time: Term) -> None:
        """`relateThroughput`, constraints A to I of Definition 4.5."""
        z3, add = self._z3, self._solver.z3.add
        ports = range(self._shape.ports)
        zero = self._number(Fraction(0))
        shares = [[self._real() for _ in ports] for _ in matrix]
        loads = [self._real() for _ in ports]
        full = [z3.Bool(self._name(), self._context) for _ in ports]
        confined = [z3.Bool(self._name(), self._context) for _ in matrix]
        for row, amount, share, inside in zip(matrix, work, shares, confined, strict=True):
            add(z3.Sum(share) == amount)  # A
            for port in ports:
                add(share[port] >= 0)  # D
                add(z3.Or(row[port], share[port] == 0))  # E
                add(z3.Or(z3.Not(row[port]), z3.Not(inside), full[port]))  # H
        for port in ports:
            add(z3.Sum([share[port] for share in shares]) == loads[port])  # B
            add(loads[port] <= time)  # C
            add(full[port] == (loads[port] == time))  # G
        add(z3.Or(full))  # F
        executed = z3.Sum([z3.If(inside, n, zero) for inside, n in zip(confined, work, strict=True)])
        add(executed == z3.Sum([z3.If(port, time, zero) for port in full]))  # I

    def _experiment(self, counts: Sequence[Term]) -> Experiment:
        model = self._solver.model()
        values = [model.eval(count, model_completion=True).as_long() for count in counts]
        return Experiment.of({s: n for s, n in zip(self._shape.schemes, values, strict=True) if n})

    def _number(self, value: Fraction) -> Term:
        return self._z3.RealVal(f"{value.numerator}/{value.denominator}", self._context)

    def _real(self) -> Term:
        return self._z3.Real(self._name(), self._context)

    def _name(self) -> str:
        self._names += 1
        return f"t{self._names}"
