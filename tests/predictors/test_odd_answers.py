"""Which answers about a block do not fit the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.predictors.answer_arrays import OUTLIER_FACTOR, outlying_answers, relative_spread

NUMBERS = st.lists(st.one_of(st.none(), st.floats(0.1, 100)), max_size=8)


@pytest.mark.parametrize(
    ("cycles", "odd"),
    [
        ([1.0, 1.1, 4.0], {2}),
        ([1.0, None, 1.1, 0.4], {3}),
        ([1.0, 4.0], set()),
        ([1.0, 1.2, 1.4], set()),
        ([1.0, 10.0, 100.0], set()),
        ([], set()),
    ],
)
def test_what_is_far_from_the_median_is_odd(cycles: list[float | None], odd: set[int]) -> None:
    assert outlying_answers(cycles) == odd


@given(NUMBERS, st.floats(0.01, 100))
def test_the_unit_does_not_matter(cycles: list[float | None], unit: float) -> None:
    far = [number for number in cycles if number is not None]
    close = any(0.999 < a / (b * OUTLIER_FACTOR) < 1.001 for a in far for b in far)
    if not close and len(far) % 2:
        scaled = [None if number is None else number * unit for number in cycles]
        assert outlying_answers(scaled) == outlying_answers(cycles)


@given(NUMBERS)
def test_most_answers_are_never_odd(cycles: list[float | None]) -> None:
    odd = outlying_answers(cycles)
    assert all(cycles[place] is not None for place in odd)
    assert 2 * len(odd) <= sum(number is not None for number in cycles)


def test_how_far_answers_are_apart() -> None:
    assert relative_spread([1.0, 3.0, None]) == 1.0
    assert relative_spread([2.0, 2.0]) == 0.0
    assert relative_spread([2.0, None]) is None
