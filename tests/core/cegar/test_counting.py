"""Counters in clauses, against counting."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from inference.core.cegar.formula import CountLiterals


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_counters_say_what_the_weights_add_up_to(weights: list[int]) -> None:
    clauses: list[tuple[int, ...]] = []
    numbers = itertools.count(len(weights) + 1)
    counters = CountLiterals(lambda: next(numbers), lambda *literals: clauses.append(literals))
    sums = counters.at_least(tuple((k + 1, weight) for k, weight in enumerate(weights)))
    attainable = {sum(c) for n in range(len(weights) + 1) for c in itertools.combinations(weights, n)}
    assert set(sums) == attainable - {0}
    for values in itertools.product((False, True), repeat=len(weights)):
        known = {k + 1: value for k, value in enumerate(values)}
        _propagate(clauses, known)
        total = sum(weight for weight, value in zip(weights, values, strict=True) if value)
        assert all(known[literal] == (total >= least) for least, literal in sums.items())


def _propagate(clauses: list[tuple[int, ...]], known: dict[int, bool]) -> None:
    """Unit propagation alone fixes every counter."""
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            if any(known.get(abs(literal)) == (literal > 0) for literal in clause):
                continue
            (open_one,) = [literal for literal in clause if abs(literal) not in known][:1] or [0]
            if open_one and sum(abs(literal) not in known for literal in clause) == 1:
                known[abs(open_one)] = open_one > 0
                changed = True
