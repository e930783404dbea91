"""The search for a second two-level mapping that an experiment distinguishes, as one Boolean question.

Let f(T) be the number of ports that the schemes T have together. An experiment that tells two mappings apart
exists exactly when for some T the cycles per instruction max(1/f(T), 1/R_max) differ by more than 2ε: where
f₁(T) > f₂(T), a base of the polymatroid f₁ on T takes one cycle for f₁(T) instructions under the first
mapping, and under the second at least f₁(T) / f₂(T) (see `inference.core.identity.distinguishing`). So the
question is only "for some T"; the experiment needs neither variables nor a bound on its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from inference.core.cegar.closed_form import ClosedForm
from inference.core.cegar.formula import Literal
from inference.core.cegar.shape import Candidate
from inference.core.experiment import Experiment


class UnionQuestion:
    """Finds a second mapping; small sets T are tried first, so that experiments stay short (§4.3)."""

    def __init__(self, encoding: ClosedForm) -> None:
        self._encoding = encoding
        formula = self._formula = encoding.formula
        shape = formula.shape
        self._chosen = [formula.literal() for _ in shape.schemes]  # the schemes T
        self._second = [  # for each port, whether T has it under the second mapping
            formula.either(
                *(
                    formula.both(selector, row[port])
                    for selector, row in zip(self._chosen, formula.matrix, strict=True)
                )
            )
            for port in range(shape.ports)
        ]
        self._second_sizes = self._sizes(self._second)
        self._small = self._at_most(self._chosen)  # T has at most 1, 2, … schemes
        self._query: tuple[Candidate, Literal] | None = None
        self._size = 1

    def find_second(self, first: Candidate) -> tuple[Candidate, Experiment | None] | None:
        """A matrix that explains all observations and can be distinguished from the first; None for none."""
        if self._query is None or self._query[0] != first:
            self._query, self._size = (first, self._difference_query(first)), 1
        for size in range(self._size, len(self._small) + 1):
            self._size = size
            candidate = self._encoding.find(self._query[1], self._small[size - 1])
            if candidate is not None:
                return candidate, None
        return None

    def _difference_query(self, first: Candidate) -> Literal:
        """A literal under which the chosen schemes' unions differ by more than the margin."""
        formula, shape = self._formula, self._formula.shape
        union = [
            formula.either(*(self._chosen[i] for i, mask in enumerate(first) if mask >> port & 1))
            for port in range(shape.ports)
        ]
        lower_bounds, upper_bounds = self._sizes(union)
        second_at_least, second_at_most = self._second_sizes
        query = formula.literal()
        choices = []
        for size in range(1, shape.ports + 1):
            differences = []  # (number of ports of T under the first mapping, number under the second)
            if (smaller := self._fewer(size)) is not None:
                differences.append((lower_bounds[size - 1], second_at_most[smaller - 1]))
            if (larger := self._more(size)) is not None:
                differences.append((upper_bounds[size - 1], second_at_least[larger - 1]))
            for first_size, second_size in differences:
                choice = formula.literal()
                choices.append(choice)
                formula.clause(-choice, first_size)
                formula.clause(-choice, second_size)
        formula.clause(-query, *choices)
        return query

    def _rate(self, size: int) -> Fraction:
        return max(Fraction(1, size), self._formula.shape.floor)

    def _fewer(self, size: int) -> int | None:
        """The largest number of ports that is slower than `size` ports by more than the margin."""
        margin = self._formula.shape.margin
        slower = [n for n in range(1, size) if self._rate(n) - self._rate(size) > margin]
        return max(slower, default=None)

    def _more(self, size: int) -> int | None:
        """The smallest number of ports that is faster than `size` ports by more than the margin."""
        margin, ports = self._formula.shape.margin, self._formula.shape.ports
        faster = [n for n in range(size + 1, ports + 1) if self._rate(size) - self._rate(n) > margin]
        return min(faster, default=None)

    def _sizes(self, literals: Sequence[Literal]) -> tuple[list[Literal], list[Literal]]:
        """Literals for ([at least 1, 2, … of the literals], [at most 1, 2, …])."""
        formula = self._formula
        at_least = [formula.literal() for _ in literals]
        for k, literal in enumerate(at_least):
            formula.at_least(literals, k + 1, -literal)
        return at_least, self._at_most(literals)

    def _at_most(self, literals: Sequence[Literal]) -> list[Literal]:
        """Literals for at most 1, 2, … of the literals: each implies its bound, not the reverse."""
        upper_bounds = [self._formula.literal() for _ in literals]
        for k, literal in enumerate(upper_bounds):
            self._formula.at_most(literals, k + 1, -literal)
        return upper_bounds
