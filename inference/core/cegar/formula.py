"""Constraints on the matrix of a `Shape`, as clauses of a finite-domain solver.

Symmetries are broken by order: columns descend lexicographically, as far as no known port set tells them
apart, and so do the rows of one scheme. In the two-level model without known port sets, exactly one matrix of
each class of renamed ones remains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from inference.core.cegar.shape import Candidate, Shape
from inference.core.cegar.z3_solver import Z3Solver

Weighted = tuple[tuple[int, int], ...]
"""((literal, weight ≥ 1), …)"""


class CountLiterals:
    """Generalised totalizers: literals for "at least n", shared by constraints on the same Booleans.

    z3's own cardinality constraints are not used: when it compiles them, its finite-domain solver (5.4)
    reports satisfiable constraints as unsatisfiable. Clauses are about as quick.
    """

    def __init__(self, literal: Callable[[], int], clause: Callable[..., None]) -> None:
        self._literal = literal
        self._clause = clause
        self._cache: dict[Weighted, dict[int, int]] = {}

    def at_least(self, terms: Weighted) -> dict[int, int]:
        """{attainable sum: literal that holds exactly when the weights add up to at least it}, ascending."""
        if len(terms) == 1:
            ((literal, weight),) = terms
            return {weight: literal}
        if terms not in self._cache:
            half = len(terms) // 2
            self._cache[terms] = self._merge(self.at_least(terms[:half]), self.at_least(terms[half:]))
        return self._cache[terms]

    def _merge(self, left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
        """The literals of two halves together.

        A sum's literal is equivalent to "at least it", so both directions are stated: the sum is reached
        where both halves reach parts of it, and the next higher sum is not where neither half exceeds its
        part.
        """
        sums = sorted({a + b for a in (0, *left) for b in (0, *right)} - {0})
        merged = {total: self._literal() for total in sums}
        above = dict(pairwise([0, *sums]))  # {sum: the next higher attainable one}
        next_left, next_right = dict(pairwise([0, *left])), dict(pairwise([0, *right]))
        for lower, upper in pairwise(sums):
            self._clause(-merged[upper], merged[lower])
        for a in (0, *left):
            for b in (0, *right):
                if a + b:  # "at least 0" is true of a half, and has no literal
                    reached = [-side[n] for side, n in ((left, a), (right, b)) if n]
                    self._clause(*reached, merged[a + b])
                if a + b in above:
                    beyond = [
                        side[following[n]]
                        for side, following, n in ((left, next_left, a), (right, next_right, b))
                        if n in following
                    ]
                    self._clause(*beyond, -merged[above[a + b]])
        return merged


FINITE_DOMAIN = "QF_FD"
"""z3's solver for Booleans and bounded integers."""

Literal = int
"""The number of a Boolean, negative for its negation. Never 0."""


class Formula:
    """A solver with the matrix's literals in it, and the constraints of its shape.

    z3's Python wrappers would spend most of a small search's time on conversions, so literals and clauses are
    stated through its C interface. The terms live as long as their context.

    Args:
        shape: Size of the matrix, and what is known of it.
        seed: Seed of the solver.
        limit: See `Z3Solver`.
        pulse: Called often; what it raises ends the search.
        kind: The logic of the solver.
        ordered: Whether to break the symmetries.
    """

    def __init__(
        self,
        shape: Shape,
        seed: int,
        limit: int,
        pulse: Callable[[], None],
        kind: str = FINITE_DOMAIN,
        *,
        ordered: bool = True,
    ) -> None:
        import z3  # loads z3

        self.shape = shape
        self.solver = Z3Solver(kind, seed, limit, pulse)
        self.pulse = pulse
        self._z3: Any = z3
        self._reference = self.solver.context.ref()
        self._boolean = z3.BoolSort(self.solver.context)
        self._terms: dict[Literal, Any] = {}
        self._counters = CountLiterals(self.literal, self.clause)
        self._unions: dict[tuple[int, ...], list[Literal]] = {}
        self.matrix = [[self.literal() for _ in range(shape.ports)] for _ in shape.owners]
        for row in self.matrix:
            self.clause(*row)
        if ordered:
            self._order_columns()
            self._order_rows()
        self._limit_widths()
        self._fill_known()
        self._share_rows()
        self._keep_apart()
        if shape.is_full:
            for column in zip(*self.matrix, strict=True):
                self.clause(*column)

    def literal(self) -> Literal:
        """A new Boolean, which nothing constrains yet."""
        z3, context = self._z3, self._reference
        number = len(self._terms) // 2 + 1
        term = z3.Z3_mk_const(context, z3.Z3_mk_string_symbol(context, f"b{number}"), self._boolean.ast)
        z3.Z3_inc_ref(context, term)
        negation = z3.Z3_mk_not(context, term)
        z3.Z3_inc_ref(context, negation)
        self._terms[number], self._terms[-number] = term, negation
        return number

    def term(self, literal: Literal) -> Any:
        """The literal as an expression of z3's Python wrappers."""
        return self._z3.BoolRef(self._terms[literal], self.solver.context)

    def clause(self, *literals: Literal) -> None:
        """State that at least one of the literals holds; without any, the formula becomes unsatisfiable.

        The pulse is called here too, as stating a large question can take longer than answering it.
        """
        self.pulse()
        z3, context = self._z3, self._reference
        terms = (z3.Ast * len(literals))(*map(self._terms.__getitem__, literals))
        z3.Z3_solver_assert(context, self.solver.z3.solver, z3.Z3_mk_or(context, len(literals), terms))

    def at_least(self, literals: Sequence[Literal], count: int, *unless: Literal) -> None:
        """State that at least `count` of the literals hold, unless one of `unless` does."""
        self.weighs([(literal, 1) for literal in literals], count, *unless)

    def at_most(self, literals: Sequence[Literal], count: int, *unless: Literal) -> None:
        """State that at most `count` of the literals hold, unless one of `unless` does."""
        if count < len(literals):
            counted = self._counters.at_least(tuple((literal, 1) for literal in literals))
            self.clause(*unless, -counted[count + 1])

    def weighs(self, terms: Sequence[tuple[Literal, int]], minimum: int, *unless: Literal) -> None:
        """State that weights of true literals add up to at least `minimum`, unless one of `unless` holds."""
        if sum(weight for _, weight in terms) < minimum:
            self.clause(*unless)
        elif minimum > 0:
            sums = self._counters.at_least(tuple(terms))
            self.clause(*unless, next(literal for total, literal in sums.items() if total >= minimum))

    def counted(self, literals: Sequence[Literal], count: int) -> Literal:
        """A literal that holds exactly when at least `count` of them do; 1 ≤ `count` ≤ their number."""
        return self._counters.at_least(tuple((literal, 1) for literal in literals))[count]

    def union(self, rows: tuple[int, ...]) -> list[Literal]:
        """For every port, a literal for "one of the rows has it"; cached by rows."""
        if len(rows) == 1:
            return self.matrix[rows[0]]
        if rows not in self._unions:
            first, last = self.union(rows[:-1]), self.matrix[rows[-1]]
            self._unions[rows] = [self.either(a, b) for a, b in zip(first, last, strict=True)]
        return self._unions[rows]

    def either(self, *literals: Literal) -> Literal:
        """A literal that is equivalent to the disjunction."""
        result = self.literal()
        for literal in literals:
            self.clause(-literal, result)
        self.clause(-result, *literals)
        return result

    def both(self, *literals: Literal) -> Literal:
        """A literal that is equivalent to the conjunction."""
        return -self.either(*(-literal for literal in literals))

    def satisfiable(self, *assumptions: Literal) -> bool:
        """Whether the formula is satisfiable under the assumptions; raises as `Z3Solver.satisfiable` does."""
        return self.solver.satisfiable(*map(self.term, assumptions))

    def core(self) -> set[Literal]:
        """The unsatisfiable core of the last call; its assumptions must not be negations."""
        return {int(name.removeprefix("b")) for name in self.solver.core()}

    def differs(self, candidate: Candidate) -> list[Literal]:
        """Literals whose disjunction holds exactly when the matrix differs from this one."""
        return [
            -literal if mask >> port & 1 else literal
            for row, mask in zip(self.matrix, candidate, strict=True)
            for port, literal in enumerate(row)
        ]

    def candidate(self) -> Candidate:
        """The matrix of the solver's last answer."""
        model, is_true = self.solver.model(), self._z3.is_true
        return tuple(
            sum(1 << port for port, literal in enumerate(row) if is_true(model.eval(self.term(literal))))
            for row in self.matrix
        )

    def holds(self, literal: Literal) -> bool:
        """Whether a literal holds in the solver's last answer."""
        return bool(self._z3.is_true(self.solver.model().eval(self.term(literal))))

    def _order_columns(self) -> None:
        """Order columns of ports that the known port sets do not tell apart: their names mean nothing."""
        masks = (self.shape.known or {}).values()
        last: dict[tuple[int, ...], int] = {}  # port of each kind
        for port in range(self.shape.ports):
            kind = tuple(mask >> port & 1 for mask in masks)
            if (before := last.get(kind)) is not None:
                self._descend([row[before] for row in self.matrix], [row[port] for row in self.matrix])
            last[kind] = port

    def _order_rows(self) -> None:
        for scheme, rows in zip(self.shape.schemes, self.shape.rows_of, strict=True):
            # The first row of an improper scheme is the shared one (see `_share_rows`), so it has a meaning
            # that the other rows lack, and its place must stay free.
            alike = rows[1:] if scheme in self.shape.improper else rows
            for upper, lower in pairwise(alike):
                self._descend(self.matrix[upper], self.matrix[lower])

    def _descend(self, upper: Sequence[Literal], lower: Sequence[Literal]) -> None:
        """`upper` is lexicographically greater than or equal to `lower`."""
        so_far: list[Literal] = []  # one literal: not equal up to here
        for k, (a, b) in enumerate(zip(upper, lower, strict=True)):
            self.clause(*so_far, a, -b)
            if k + 1 < len(upper):
                equal = self.literal()
                for pair in ((a, b), (-a, -b)):
                    self.clause(*so_far, *pair, equal)
                so_far = [-equal]

    def _limit_widths(self) -> None:
        for scheme, width in (self.shape.widths or {}).items():
            if scheme in self.shape.index:
                row = self.matrix[self.shape.rows_of[self.shape.index[scheme]][0]]
                self.at_least(row, width)
                self.at_most(row, width)

    def _fill_known(self) -> None:
        for scheme, mask in (self.shape.known or {}).items():
            if scheme in self.shape.index:
                row = self.matrix[self.shape.rows_of[self.shape.index[scheme]][0]]
                for port, literal in enumerate(row):
                    self.clause(literal if mask >> port & 1 else -literal)

    def _share_rows(self) -> None:
        """The first row of an improper scheme equals the row of some scheme with one µop (§6.3.4)."""
        proper = [rows[0] for rows in self.shape.rows_of if len(rows) == 1]
        for scheme in self.shape.improper:
            if scheme in self.shape.index:
                own_row = self.matrix[self.shape.rows_of[self.shape.index[scheme]][0]]
                self.clause(*(self._equal(own_row, self.matrix[row]) for row in proper))

    def _keep_apart(self) -> None:
        """Every port belongs to at most one of two sets of schemes; one literal per port says to which."""
        for first, second in self.shape.apart:
            for port in range(self.shape.ports):
                of_first = self.literal()
                for schemes, literal in ((first, of_first), (second, -of_first)):
                    for scheme in sorted(schemes & self.shape.index.keys()):
                        for row in self.shape.rows_of[self.shape.index[scheme]]:
                            self.clause(-self.matrix[row][port], literal)

    def _equal(self, first: Iterable[Literal], second: Iterable[Literal]) -> Literal:
        is_equal = self.literal()
        for a, b in zip(first, second, strict=True):
            self.clause(-is_equal, a, -b)
            self.clause(-is_equal, -a, b)
        return is_equal
