"""Laws of times by the number of registers in a group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.judging.group_laws import GroupLaw, group_times, law_of

SIZES = (1, 2, 4, 8)


@pytest.mark.parametrize(
    ("times", "law"),
    [
        ((1, 2, 4, 8), GroupLaw.PROPORTIONAL),
        ((2, 4, 8, 16), GroupLaw.PROPORTIONAL),
        ((2, 2.1, 2, 1.95), GroupLaw.CONSTANT),
        ((4, 4, 8, 16), GroupLaw.FLOOR),
        ((3, 5, 9, 17), GroupLaw.LINEAR),
        ((1, 4, 16, 64), GroupLaw.QUADRATIC),
        ((2, 4, 9, 34), GroupLaw.NONE),
    ],
)
def test_times_have_the_first_law_that_fits(times: tuple[float, ...], law: GroupLaw) -> None:
    assert law_of(dict(zip(SIZES, times, strict=True))) is law


@given(st.floats(0.1, 100), st.floats(0.93, 1.07), st.sampled_from(SIZES))
def test_a_law_allows_for_noise(single: float, noise: float, place: int) -> None:
    times = {size: single * size * (noise if size == place else 1.0) for size in SIZES}
    assert law_of(times) is not GroupLaw.NONE


def test_instructions_without_one_register_or_enough_sizes_are_left_out() -> None:
    families = [{1: "a1", 2: "a2", 4: "a4"}, {1: "b1", 2: "b2"}, {2: "c2", 4: "c4", 8: "c8"}]
    cycles = {"a1": 1.0, "a2": 2.0, "a4": 4.0, "b1": 1.0, "b2": 2.0, "c2": 2.0, "c4": 4.0, "c8": 8.0}
    (entry,) = group_times(families, cycles)
    assert (entry.scheme, entry.pattern, entry.law) == ("a1", "1/2/4", GroupLaw.PROPORTIONAL)
    assert list(group_times(families, {**cycles, "a4": 0.0})) == []
