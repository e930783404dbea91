"""What holds for every predictor, whatever is behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from inference.predictors.protocol import Answer, Failure, Predictor
from tests.predictors.contract import CASES, Case
from tests.predictors.fakes import CRASHING, GARBAGE, GOOD, HANGING, UNKNOWN


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def predictor(case: Case, tmp_path) -> Iterator[Predictor]:
    made = case.make(tmp_path, False)
    yield made
    made.close()


def test_identities_tell_options_apart_and_can_be_stored(case, tmp_path):
    made = [case.make(tmp_path, other) for other in (False, False, True)]
    first, again, other = (json.dumps(one.identity, sort_keys=True) for one in made)
    assert first == again
    assert first != other
    assert all(one.name for one in made)
    for one in made:
        one.close()


def test_every_block_gets_its_answer_and_ways_of_failing_are_told_apart(case, predictor):
    blocks = [GOOD, CRASHING, GOOD + GOOD, UNKNOWN, GOOD, GARBAGE, HANGING, GOOD]
    expected = [
        None,
        Failure.CRASH,
        None,
        Failure.UNSUPPORTED,
        None,
        Failure.NO_NUMBER,
        Failure.TIMEOUT,
        None,
    ]
    if case.name == "CQA":  # which says nothing of what it does not know
        expected[3] = Failure.NO_NUMBER
    if not case.crashes:
        expected[1] = expected[5] = expected[6] = None
    answers = predictor.predict(blocks)
    assert [answer.failure for answer in answers] == expected
    assert answers[0] == answers[4] == answers[7] == Answer(cycles=1.5)
    assert all(answer.detail for answer in answers if answer.failure)


def test_nothing_asked_is_nothing_answered(predictor):
    assert predictor.predict([]) == []


def test_it_can_be_closed_without_having_been_asked(predictor):
    predictor.close()
