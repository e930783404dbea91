from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.pmevo.plan import (
    ceiling,
    exhaustive,
    mixes,
    pairs,
    relative_difference,
    singletons,
    smooth_times,
)
from inference.core.sampling import random_mixes


def planned(times: dict[str, float], epsilon: float = 0.05) -> set[Experiment]:
    return set(pairs(times, epsilon))


def test_the_thesis_example_plans_one_to_one_and_one_to_four() -> None:
    assert planned({"add": 0.25, "mul": 1.0}) == {
        Experiment.of({"add": 1, "mul": 1}),
        Experiment.of({"add": 4, "mul": 1}),
    }


def test_every_scheme_has_its_singleton() -> None:
    assert singletons(["a", "b"]) == [Experiment.of({"a": 1}), Experiment.of({"b": 1})]


def test_schemes_of_equal_time_meet_only_one_to_one() -> None:
    assert planned({"a": 1.0, "b": 1.0}) == {Experiment.of({"a": 1, "b": 1})}


def test_noise_on_equal_times_asks_for_no_spurious_one_to_two() -> None:
    assert planned({"a": 1.003, "b": 1.001}) == {Experiment.of({"a": 1, "b": 1})}


def test_noise_on_a_whole_ratio_does_not_raise_it() -> None:
    assert Experiment.of({"slow": 1, "fast": 4}) in planned({"slow": 1.003, "fast": 0.249})


def test_a_ratio_between_whole_numbers_is_rounded_up() -> None:
    assert Experiment.of({"slow": 1, "fast": 2}) in planned({"slow": 1.3, "fast": 1.0})


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0.2, 30), min_size=2, max_size=12)
)
def test_without_tolerance_the_plan_is_the_paper_s(times: dict[str, float]) -> None:
    expected = set()
    for (a, time_a), (b, time_b) in itertools.permutations(times.items(), 2):
        expected.add(Experiment.of({a: 1, b: 1}))
        if time_a > time_b:
            expected.add(Experiment.of({a: 1, b: math.ceil(time_a / time_b)}))
    assert planned(times, 0.0) == expected


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0.2, 30), min_size=1))
def test_smoothing_moves_no_time_by_more_than_epsilon_and_keeps_the_order(times: dict[str, float]) -> None:
    smooth = smooth_times(times, 0.05)
    assert smooth.keys() == times.keys()
    for scheme, time in times.items():
        assert relative_difference(time, smooth[scheme]) < 0.05
    by_time = sorted(times, key=lambda scheme: times[scheme])
    assert [smooth[scheme] for scheme in by_time] == sorted(smooth.values())


@pytest.mark.parametrize(
    ("value", "expected"), [(0.3, 1), (1.0236, 1), (1.06, 2), (3.96, 4), (4.1, 4), (20.3, 21), (12.1, 12)]
)
def test_rounding_up_forgives_measurement_noise(value: float, expected: int) -> None:
    assert ceiling(value, 0.05) == expected


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0.2, 30), min_size=1, max_size=12)
)
def test_the_paper_s_plan_is_counted_without_making_it(times: dict[str, float]) -> None:
    assert exhaustive(times, 0.05) == len(times) + len(list(pairs(times, 0.05)))


def test_mixes_have_three_to_five_instructions_and_none_of_the_held_out() -> None:
    schemes = [f"s{k}" for k in range(6)]
    first = mixes(schemes, 100, seed=3)
    assert len(set(first)) == 100
    assert {length: sum(e.length == length for e in first) for length in (3, 4, 5)} == {3: 33, 4: 33, 5: 34}
    kept = set(first[::3])
    others = mixes(schemes, 100, seed=3, without=kept)
    assert len(others) == 100
    assert not kept & set(others)
    assert mixes(schemes, 100, seed=4) != first


def test_mixes_to_learn_from_are_drawn_apart_from_those_to_judge_by() -> None:
    schemes = [f"s{k}" for k in range(40)]
    judging = random_mixes(schemes, 300, 1)
    assert not set(judging) & set(mixes(schemes, 300, 1))
