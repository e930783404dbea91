"""τ_b is that of scipy, to the last bit, in whatever order the points come."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.core.metrics import inversions, tau_b
from tests.drawn import examples

FEW = st.integers(0, 6).map(float)
VALUES = st.one_of(FEW, st.floats(0, 1e6), st.just(math.inf))


@examples(150)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=60))
def test_tau_is_that_of_scipy_to_the_last_bit(points: list[tuple[float, float]]) -> None:
    x, y = zip(*points, strict=True)
    tau = tau_b(np.array(x), np.array(y))
    assert tau == tau_b(np.array(x[::-1]), np.array(y[::-1]))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert tau is None
    else:
        assert tau == stats.kendalltau(x, y, variant="b").statistic


@examples(80)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 9)), max_size=30))
def test_inversions_are_the_weighted_pairs_in_falling_order(elements: list[tuple[int, int]]) -> None:
    ranks, weights = (np.array([e[k] for e in elements], dtype=np.int64) for k in (0, 1))
    expected = sum(w * v for j, (r, w) in enumerate(elements) for higher, v in elements[:j] if higher > r)
    assert inversions(ranks, weights) == expected


def test_no_points_have_no_tau() -> None:
    assert tau_b(np.zeros(0), np.zeros(0)) is None
