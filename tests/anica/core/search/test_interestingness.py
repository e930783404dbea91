"""When blocks are interesting."""

from __future__ import annotations

import math

import pytest

from anica_app.core.search.interestingness import Disagreement, InterestSettings, SamePrediction
from inference.core.errors import InvalidInputError
from inference.predictors.protocol import Answer, Failure

CRASH, TIMEOUT = Answer(failure=Failure.CRASH), Answer(failure=Failure.TIMEOUT)


def cycles(*values):
    return [Answer(cycles=value) for value in values]


def judge(**settings):
    return Disagreement(InterestSettings(**settings))


@pytest.mark.parametrize(
    ("a", "b", "value", "interesting"),
    [(1.0, 3.0, 1.0, True), (3.0, 5.0, 0.5, False), (3.0, 5.1, 0.5185, True), (0.0, 0.0, 0.0, False)],
)
def test_the_relative_difference_is_that_by_the_mean_and_must_exceed_the_threshold(a, b, value, interesting):
    verdict = judge().verdict(cycles(a, b))
    assert verdict.interesting is interesting
    assert verdict.value == pytest.approx(value, abs=1e-4)
    assert verdict.kind == ("difference" if interesting else "")


def test_the_absolute_difference_is_in_cycles():
    absolute = judge(metric="absolute", threshold=2.0)
    assert not absolute.verdict(cycles(10, 12)).interesting
    assert absolute.verdict(cycles(10, 12.5)).value == 2.5


def test_a_crash_of_either_tool_is_interesting_without_bound_and_told_apart():
    first, second = judge().verdict([CRASH, *cycles(1)]), judge().verdict([*cycles(1), CRASH])
    assert first.value == second.value == math.inf
    assert (first.kind, second.kind) == ("crash of 1", "crash of 2")
    assert judge().verdict([CRASH, CRASH]).kind == "crash of 1, crash of 2"


def test_failures_that_do_not_count_make_a_block_uninteresting_whatever_the_difference():
    assert not judge().verdict([TIMEOUT, *cycles(9)]).interesting
    assert judge(failures="crash, timeout").verdict([TIMEOUT, *cycles(9)]).kind == "timeout of 1"
    assert judge().verdict([TIMEOUT, CRASH]).kind == "crash of 2"


def test_where_a_tool_has_no_number_nobody_knows_unless_that_is_what_counts():
    nothing, refusal = Answer(failure=Failure.NO_NUMBER), Answer(failure=Failure.UNSUPPORTED)
    verdict = judge().verdict([nothing, *cycles(9)])
    assert (verdict.silent, verdict.interesting) == (True, False)
    assert not judge().verdict([nothing, refusal]).silent
    assert not judge(failures="no number").verdict([nothing, *cycles(9)]).silent
    assert not judge().verdict(cycles(1, 1)).silent


def test_a_single_tool_is_searched_for_failures():
    assert judge().verdict([CRASH]).interesting
    assert not judge().verdict(cycles(7)).interesting
    assert not judge(metric="failure").verdict(cycles(1, 9)).interesting


def test_an_explained_prediction_is_one_that_stays_the_same():
    same = SamePrediction(Answer(cycles=2.0), 0.05)
    assert same.verdict(cycles(2.05)).kind == "same"
    assert not same.verdict(cycles(2.2)).interesting
    assert not same.verdict([CRASH]).interesting
    assert SamePrediction(CRASH, 0.05).verdict([CRASH]).interesting
    assert not SamePrediction(CRASH, 0.05).verdict([TIMEOUT]).interesting


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"metric": "silly"}, "metric"),
        ({"threshold": "a lot"}, "threshold"),
        ({"failures": "crash, hiccup"}, "failures"),
        ({"metric": "failure", "failures": ""}, "failures"),
        ({"treshold": "1"}, "threshold"),
    ],
)
def test_settings_outside_their_domain_are_refused_by_name(options, culprit):
    with pytest.raises(InvalidInputError, match=culprit):
        InterestSettings.parse(options)
