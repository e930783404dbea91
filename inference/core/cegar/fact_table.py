"""An encoding for few ports: clauses on how many µops of each scheme every port set confines.

The closed form asks for the µops confined to a set of ports, for all sets (thesis §5.1.4). With few ports all
sets can be listed, and two measurements of the same schemes then speak about the same counts:

- tp⁻¹(e) < high excludes facts (see `profiles`): no c ports confine so many µops of the schemes. Of these
  facts only the weakest are stated, each for all sets of c ports.
- tp⁻¹(e) > low says of some set that the µops it confines take longer.

Unlike `closed_form`, it needs no refinement by candidates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from inference.core.cegar.formula import Formula, Literal
from inference.core.cegar.profiles import Fact, implies
from inference.core.cegar.shape import Candidate, Observation, Shape

MAX_CELLS = 1_100
"""µops times port sets, up to which the table is the quicker way: 17 µops on 6 ports, 8 on 7."""

MAX_FACTS = 50_000
"""Facts of a shape, up to which all may be listed: with many schemes, they are what takes memory and time."""


class FactTable:
    """A solver for matrices that explain the observations added and are not excluded."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.excluded: list[Fact] = []
        ports = formula.shape.ports
        self._all_ports = (1 << ports) - 1
        self._sets: list[list[int]] = [[] for _ in range(ports + 1)]
        for ports_set in range(1, 1 << ports):
            self._sets[ports_set.bit_count()].append(ports_set)
        self._inside: dict[tuple[int, int], Literal] = {}  # {(row, ports): literal for "confined to them"}
        self._has: dict[Fact, Literal] = {}
        self._lacks: dict[Fact, Literal] = {}

    @staticmethod
    def suits(shape: Shape) -> bool:
        """Whether the shape is small enough for a table."""
        facts = shape.ports * math.prod(n + 1 for n in shape.counts)
        return len(shape.owners) << shape.ports <= MAX_CELLS and facts <= MAX_FACTS

    def add(self, observation: Observation) -> None:
        """Require the matrix to explain this observation."""
        for fact in weakest(self.formula.shape, observation, lambda n: math.ceil(observation.high * n)):
            self.forbid(fact)
        if observation.low is not None:
            self._confine(observation, observation.low)

    def exclude(self, candidate: Candidate) -> None:
        """Exclude this matrix from later answers."""
        self.formula.clause(*self.formula.differs(candidate))

    def find(self, *assumptions: Literal) -> Candidate | None:
        """A matrix that explains all observations under the assumptions; None for none."""
        return self.formula.candidate() if self.formula.satisfiable(*assumptions) else None

    def forbid(self, fact: Fact) -> None:
        """Require that the fact does not hold of the matrix."""
        if not any(implies(fact, excluded) for excluded in self.excluded):
            self.excluded.append(fact)
            self._forbid(fact)

    def any_of(self, facts: Iterable[Fact]) -> Literal:
        """A literal under which one of the facts holds of the matrix."""
        literal = self.formula.literal()
        self.formula.clause(-literal, *(self.has(fact) for fact in facts))
        return literal

    def has(self, fact: Fact) -> Literal:
        """A literal under which the fact holds of the matrix."""
        if fact not in self._has:
            formula = self.formula
            choices = []
            for ports in self._sets[fact[0]]:
                choices.append(formula.literal())
                for count in self._counts(fact, ports):
                    formula.clause(-choices[-1], count)
            self._has[fact] = formula.literal()
            formula.clause(-self._has[fact], *choices)
        return self._has[fact]

    def lacks(self, fact: Fact) -> Literal:
        """A literal under which the fact does not hold of the matrix."""
        if fact not in self._lacks:
            self._lacks[fact] = self.formula.literal()
            self._forbid(fact, -self._lacks[fact])
        return self._lacks[fact]

    def close(self) -> None:
        self.formula.solver.close()

    def _forbid(self, fact: Fact, *unless: Literal) -> None:
        for ports in self._sets[fact[0]]:
            self.formula.clause(*unless, *(-count for count in self._counts(fact, ports)))

    def _counts(self, fact: Fact, ports: int) -> list[Literal]:
        """Literals whose conjunction says that these ports confine the fact's µops."""
        if ports == self._all_ports:
            return []
        formula = self.formula
        return [
            formula.counted([self._row_inside(row, ports) for row in rows], count)
            for rows, count in zip(formula.shape.rows_of, fact[1], strict=True)
            if count
        ]

    def _row_inside(self, row: int, ports: int) -> Literal:
        """A literal for "the row has no other ports than these"; `ports` must not be all.

        It is built from the literal for one port more, so that literals of all sets share their parts.
        """
        key = row, ports
        if key not in self._inside:
            outside = self._all_ports & ~ports
            port = outside.bit_length() - 1
            unused = -self.formula.matrix[row][port]
            if outside == 1 << port:
                self._inside[key] = unused
            else:
                self._inside[key] = self.formula.both(unused, self._row_inside(row, ports | 1 << port))
        return self._inside[key]

    def _confine(self, observation: Observation, low: Fraction) -> None:
        """One of the weakest facts that take more than `low` cycles holds, and is not excluded."""
        enough = [
            fact
            for fact in weakest(self.formula.shape, observation, lambda n: math.floor(low * n) + 1)
            if not any(implies(fact, excluded) for excluded in self.excluded)
        ]
        self.formula.clause(*(self.has(fact) for fact in enough))


def weakest(shape: Shape, observation: Observation, minimum_of: Callable[[int], int]) -> Iterator[Fact]:
    """The weakest facts that put `least(n)` µops of the experiment or more on n ports, for each n."""
    used = {shape.owners[row]: n for row, n in observation.work.items()}
    row_counts = [shape.counts[i] for i in used]
    for width in range(1, shape.ports + 1):
        for counts in _lightest(row_counts, list(used.values()), minimum_of(width)):
            placed = dict(zip(used, counts, strict=True))
            yield width, tuple(placed.get(i, 0) for i in range(len(shape.schemes)))


def _lightest(row_counts: Sequence[int], weights: Sequence[int], minimum: int) -> Iterator[tuple[int, ...]]:
    """Counts up to `row_counts` whose weights add up to `minimum`, and would not with one less."""
    for counts in itertools.product(*(range(n + 1) for n in row_counts)):
        total = sum(n * weight for n, weight in zip(counts, weights, strict=True))
        lightest = min((weight for n, weight in zip(counts, weights, strict=True) if n), default=0)
        if total >= minimum and (total - lightest < minimum or not lightest):
            yield counts
