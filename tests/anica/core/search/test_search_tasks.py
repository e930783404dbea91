"""Asking predictors in bulk on behalf of many searches."""

from __future__ import annotations

import threading

import pytest

from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import Driver
from inference.core.errors import InterruptedRunError
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer, Failure
from tests.anica.core.search.toy import Scripted, ToyDomain, plain

DOMAIN = ToyDomain()


def driver_over(*tools, pulse=lambda: None):
    panel = Panel(tools, pulse)
    return Driver(DOMAIN, panel, Disagreement(InterestSettings())), panel


def wanting(*wishes):
    """A search that wants these blocks, one list after the other, and returns what it was told."""
    told = []
    for blocks in wishes:
        judged = yield blocks
        told.append([(one.block, one.answers[0].cycles) for one in judged])
    return told


def test_the_wishes_of_many_searches_become_few_questions_and_each_gets_its_own_answers():
    tool = Scripted("one", plain)
    driver, panel = driver_over(tool)
    a, b, ab = ("a1x",), ("b1x",), ("a1x", "b1x")
    tasks = [wanting([a], [ab, b]), wanting([b]), wanting([a, a]), wanting(), wanting([ab])]
    results = driver.run(tasks)
    panel.close()
    assert results[0] == [[(a, 1.0)], [(ab, 2.0), (b, 1.0)]]
    assert results[1] == [[(b, 1.0)]]
    assert results[2] == [[(a, 1.0), (a, 1.0)]]
    assert results[3] == []
    assert results[4] == [[(ab, 2.0)]]
    assert len(tool.asked) == 3, "each half of the searches is asked for at once"
    assert all(len(blocks) == len(set(blocks)) for blocks in tool.asked)


def test_predictors_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=60)

    class Meeting(Scripted):
        def predict(self, blocks):
            meeting.wait()
            return super().predict(blocks)

    driver, panel = driver_over(Meeting("one", plain), Meeting("two", plain))
    assert len(driver.judge([("a1x",)])) == 1
    panel.close()


def test_failures_are_counted_by_predictor_and_sort():
    driver, panel = driver_over(Scripted("one", plain), Scripted("two", lambda block: Failure.TIMEOUT))
    judged = driver.judge([("a1x",), ("b1x",)])
    panel.close()
    assert judged[0].answers == (Answer(cycles=1.0), Answer(failure=Failure.TIMEOUT))
    assert panel.failures == {(2, "timeout"): 2}
    assert panel.judged == 2


def test_a_wish_to_stop_is_heard_while_a_tool_takes_its_time():
    done = threading.Event()

    class Slow(Scripted):
        def predict(self, blocks):
            done.wait(60)
            return super().predict(blocks)

    def pulse():
        raise InterruptedRunError("pause")

    driver, panel = driver_over(Slow("slow", plain), pulse=pulse)
    with pytest.raises(InterruptedRunError):
        driver.judge([("a1x",)])
    done.set()
    panel.close()


def test_searches_that_are_not_done_when_time_is_up_have_no_result():
    driver, panel = driver_over(Scripted("one", plain))
    asked = iter([False, True])
    results = driver.run([wanting([("a1x",)]), wanting(*[[("a1x",)]] * 50)], expired=lambda: next(asked))
    panel.close()
    assert results[0] == [[(("a1x",), 1.0)]]
    assert results[1] is None
