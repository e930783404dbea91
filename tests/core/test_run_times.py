"""Estimates of runs: from finished ones before the beginning, from the own pace afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.run_times import (
    Basis,
    ExpectedTime,
    PastRun,
    StepProgress,
    TimeRange,
    expected_time,
    relative_pace,
    remaining_time,
    slower,
)

STARTER, DEFAULT = PastRun("starter", 82, 24.6, {"alone": 4.6, "ports": 20.0}), "default"
ALIKE = ExpectedTime(Basis.ALIKE, TimeRange(80.0, 100.0, 130.0), {"first": 40.0, "second": 60.0}, 1)


def test_runs_that_are_alike_decide_whatever_others_took() -> None:
    past = [PastRun(DEFAULT, 2000, seconds) for seconds in (300.0, 400.0, 380.0)]
    expected = expected_time(DEFAULT, 2100, [STARTER, *past])
    assert expected.basis is Basis.ALIKE
    assert expected.runs == 3
    assert expected.total is not None
    assert expected.total.likely == 380.0
    assert expected.total.least <= 300.0
    assert expected.total.most >= 400.0


def test_a_list_of_another_size_is_not_alike() -> None:
    assert expected_time("list", 400, [PastRun("list", 100, 50.0)]).basis is Basis.SCALED


def test_another_selection_is_estimated_by_its_size_and_honest_about_it() -> None:
    """The starter and the default set on a Zen 4: 24.6 and 373.2 seconds."""
    expected = expected_time(DEFAULT, 2122, [STARTER])
    assert expected.basis is Basis.SCALED
    assert expected.total is not None
    assert expected.total.likely == pytest.approx(373.2, rel=0.1)
    assert expected.total.most > 2 * expected.total.likely
    assert sum(expected.steps.values()) == pytest.approx(expected.total.likely)


def test_the_reference_is_scaled_by_the_pace_of_the_computer() -> None:
    reference = {"explain": [STARTER, PastRun(DEFAULT, 2122, 373.2)]}
    here = {"explain": [PastRun("starter", 82, 2 * 24.6)]}
    pace = relative_pace(here, reference)
    assert pace == pytest.approx(2.0)
    expected = expected_time(DEFAULT, 2122, here["explain"], reference["explain"], pace)
    assert expected.total is not None
    assert expected.total.likely == pytest.approx(2 * 373.2)
    fresh = expected_time(DEFAULT, 2122, [], reference["explain"])
    assert fresh.basis is Basis.REFERENCE
    assert fresh.total is not None
    assert fresh.total.likely == pytest.approx(373.2)
    assert relative_pace({}, reference) is None


def test_without_any_run_nothing_is_promised() -> None:
    expected = expected_time("new", 10, [])
    assert expected == ExpectedTime(Basis.NOTHING)
    assert remaining_time([StepProgress(5.0)], expected).total is None
    measured = remaining_time([StepProgress(5.0, share=0.25)], expected).total
    assert measured is not None
    assert measured.likely == pytest.approx(15.0), "a rate is measured after the first seconds"
    assert measured.least < measured.likely < measured.most


def test_a_run_at_its_usual_pace_ends_when_it_usually_does() -> None:
    steps = [StepProgress(40.0, 40.0, is_done=True), StepProgress(30.0, 60.0, share=0.5)]
    remaining = remaining_time(steps, ALIKE)
    assert remaining.total is not None
    assert remaining.total.likely == pytest.approx(30.0, abs=1.0)
    assert not remaining.is_slow


def test_a_slow_computer_moves_the_end_and_is_named() -> None:
    steps = [StepProgress(160.0, 40.0, is_done=True), StepProgress(0.0, 60.0)]
    remaining = remaining_time(steps, ALIKE)
    assert remaining.is_slow
    assert remaining.total is not None
    assert remaining.total.likely == pytest.approx(4 * 60.0, rel=0.15)


def test_a_step_that_is_overdue_or_counts_to_its_end_goes_on() -> None:
    for share in (None, 1.0):
        overdue = remaining_time([StepProgress(100.0, 60.0, share=share)], ALIKE).total
        assert overdue is not None
        assert overdue.likely >= 20.0


def test_steps_of_other_runs_do_not_outvote_the_expected_total_at_first() -> None:
    """Their shares differ: a search took 26 % of one run, and 87 % of another."""
    scaled = ExpectedTime(Basis.SCALED, TimeRange(100.0, 285.0, 800.0), {"refit": 200.0, "search": 85.0})
    early = [StepProgress(15.0, 200.0, is_done=True), StepProgress(15.0, 85.0, share=0.4)]
    remaining = remaining_time(early, scaled).total
    assert remaining is not None
    assert 285.0 / 1.5 <= 30.0 + remaining.likely <= 285.0 * 1.5


def test_load_makes_everything_longer() -> None:
    loaded = slower(ALIKE, 3.0)
    assert loaded.total == TimeRange(240.0, 300.0, 390.0)
    assert loaded.steps == {"first": 120.0, "second": 180.0}
    assert slower(ALIKE, 0.5) is ALIKE


SECONDS = st.floats(0.01, 1e6)


@given(
    st.lists(st.builds(PastRun, st.sampled_from("ab"), st.integers(0, 10**6), SECONDS), max_size=5),
    st.lists(
        st.builds(
            StepProgress,
            st.floats(0, 1e6),
            st.none() | SECONDS,
            st.none() | st.just(0.0) | st.floats(1e-6, 1),
            is_done=st.booleans(),
        ),
        max_size=5,
    ),
    st.integers(0, 10**6),
)
def test_ends_enclose_what_is_likely(past: list[PastRun], steps: list[StepProgress], size: float) -> None:
    expected = expected_time("a", size, past)
    assert (expected.total is None) == (not past)
    for span in (expected.total, remaining_time(steps, expected).total):
        if span is not None:
            assert 0 <= span.least <= span.likely * (1 + 1e-9)
            assert span.likely <= span.most * (1 + 1e-9)
