"""τ_b from merged parts is that of scipy, to the last bit, in whatever parts the points come."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.core.ranks import PairCounts, inversions
from tests.drawn import examples

FEW = st.integers(0, 6).map(float)
VALUES = st.one_of(FEW, st.floats(0, 1e6), st.just(math.inf))


@st.composite
def parts(draw: st.DrawFn) -> list[list[tuple[float, float]]]:
    points = draw(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(points)), max_size=5)))
    return [points[a:b] for a, b in zip([0, *cuts], [*cuts, len(points)], strict=True)]


def counts_of(points: list[tuple[float, float]]) -> PairCounts:
    return PairCounts.of(np.array([x for x, _ in points]), np.array([y for _, y in points]))


@examples(150)
@given(parts())
def test_merged_parts_have_the_tau_of_the_whole_which_is_that_of_scipy(
    cut: list[list[tuple[float, float]]],
) -> None:
    whole = [point for part in cut for point in part]
    merged = PairCounts.merged([counts_of(part) for part in reversed(cut)])
    assert merged.n == len(whole)
    tau = merged.tau_b()
    assert tau == counts_of(whole).tau_b()
    x, y = zip(*whole, strict=True)
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


def test_equal_pairs_are_kept_once() -> None:
    ones = np.ones(1000)
    counts = PairCounts.of(np.concatenate((ones, ones * 2)), np.concatenate((ones, ones * 3)))
    assert (len(counts), counts.n, counts.tau_b()) == (2, 2000, 1.0)
    assert PairCounts.merged([]).tau_b() is None
