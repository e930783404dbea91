"""The Pareto front of error, volume and kinds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inference.core.pmevo.refit.front import RefitPoint, add_point, cheapest, sparse_front
from inference.core.pmevo.refit.usage import Usage


def point(error: float, kinds: int, count: int) -> RefitPoint:
    usage = Usage.empty(kinds)
    for scheme in range(kinds):
        usage.set_row(scheme, [(1 << scheme, count)])
    return RefitPoint(error, usage.volume(np.ones(kinds, dtype=np.int64)), usage)


points = st.lists(
    st.builds(point, st.integers(1, 50).map(lambda n: n / 100), st.integers(1, 6), st.integers(1, 5)),
    min_size=1,
    max_size=12,
)


def beats(first: RefitPoint, second: RefitPoint) -> bool:
    pairs = list(zip(first.objectives, second.objectives, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(points)
def test_a_front_has_what_nothing_beats_and_nothing_else(found: list[RefitPoint]) -> None:
    front: tuple[RefitPoint, ...] = ()
    for one in found:
        front = add_point(front, one)
    assert {p.objectives for p in front} == {
        one.objectives for one in found if not any(beats(other, one) for other in found)
    }
    assert len({p.objectives for p in front}) == len(front)


@given(points)
def test_thinning_keeps_the_most_accurate_and_an_unbeaten_choice(found: list[RefitPoint]) -> None:
    kept = sparse_front(found)
    assert list(kept) == sorted(kept, key=lambda p: p.objectives)
    assert kept[0].error == min(p.error for p in found)
    assert not any(beats(other, one) for one in kept for other in found)
    assert {p.kinds for p in kept} == {
        one.kinds for one in found if not any(beats(other, one) for other in found)
    }


def test_fewer_kinds_are_worth_some_error() -> None:
    many, few, fewest = point(0.0300, 6, 1), point(0.0303, 4, 1), point(0.05, 1, 1)
    assert cheapest([many, few, fewest]) is few
