"""How many of some Booleans hold, in clauses: generalised totalizers.

z3's own cardinality constraints are not used: told to compile them, its finite-domain solver (5.4) calls
satisfiable constraints contradictory. Clauses are about as quick.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

Weighted = tuple[tuple[int, int], ...]
"""((literal, weight ≥ 1), …)"""


class CountLiterals:
    """Literals that say "at least so much", shared by all who ask about the same Booleans."""

    def __init__(self, literal: Callable[[], int], clause: Callable[..., None]) -> None:
        self._literal = literal
        self._clause = clause
        self._known: dict[Weighted, dict[int, int]] = {}

    def at_least(self, terms: Weighted) -> dict[int, int]:
        """{attainable sum: literal that holds exactly when the weights add up to at least it}, ascending."""
        if len(terms) == 1:
            ((literal, weight),) = terms
            return {weight: literal}
        if terms not in self._known:
            half = len(terms) // 2
            self._known[terms] = self._merged(self.at_least(terms[:half]), self.at_least(terms[half:]))
        return self._known[terms]

    def _merged(self, left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
        sums = sorted({a + b for a in (0, *left) for b in (0, *right)} - {0})
        merged = {total: self._literal() for total in sums}
        above = dict(pairwise([0, *sums]))
        next_left, next_right = dict(pairwise([0, *left])), dict(pairwise([0, *right]))
        for lower, upper in pairwise(sums):
            self._clause(-merged[upper], merged[lower])
        for a in (0, *left):
            for b in (0, *right):
                if a + b:
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
