"""One disturbed measurement does not mislead a search that takes each at its word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.measuring.proxies import MAX_LENGTH, SecondOpinion, multiple

ADD = Experiment.of({"add": 2, "imul": 1})


class Told:
    """Answers from a table of cycles, None for a failure; remembers what was asked."""

    identity = {"kind": "table"}

    def __init__(self, cycles):
        self.cycles = cycles
        self.asked = []

    def offers(self):
        return None

    def measure(self, experiments):
        for experiment in experiments:
            self.asked.append(experiment)
            cycles = self.cycles.get(experiment)
            state = MeasurementState.FAILED if cycles is None else MeasurementState.SETTLED
            yield Measured(experiment, cycles, state)


def judged(*cycles):
    told = Told({multiple(ADD, k): value for k, value in enumerate(cycles, start=1)})
    (result,) = SecondOpinion(told, 0.02).measure([ADD])
    assert result.experiment == ADD
    return result.cycles, len(told.asked)


def test_of_two_that_agree_the_faster_counts_and_nothing_else_is_asked():
    assert judged(1.02, 2.0) == (1.0, 2)
    assert judged(1.0, 2.04) == (1.0, 2)


def test_where_two_disagree_a_third_decides():
    assert judged(1.5, 2.0, 3.03) == (pytest.approx(1.01), 3)
    assert judged(1.0, 3.0, 3.03) == (pytest.approx(1.01), 3)


def test_a_failed_multiple_leaves_the_first_answer_as_it_is():
    assert judged(1.5, None) == (1.5, 2)
    assert judged(1.5, 2.0, None) == (1.0, 3)


def test_what_cannot_be_measured_is_told_as_such():
    assert judged(None, None) == (None, 2)


@pytest.mark.parametrize(("triple", "settles"), [(3.03, True), (4.5, False), (None, False)])
def test_what_did_not_settle_has_the_time_on_which_its_multiples_agree(triple, settles):
    class Restless(Told):
        def measure(self, experiments):
            for result in super().measure(experiments):
                alone = result.experiment == ADD
                yield replace(result, state=MeasurementState.UNSETTLED) if alone else result

    told = Restless({multiple(ADD, k): cycles for k, cycles in enumerate((1.7, 2.0, triple), start=1)})
    (found,) = SecondOpinion(told, 0.02).measure([ADD])
    assert found.usable == settles
    assert found.cycles == (1.0 if settles else 1.7)


def test_results_come_in_the_order_asked_and_long_experiments_are_asked_once():
    long = Experiment.of({"add": MAX_LENGTH + 1})
    told = Told({ADD: 1.0, multiple(ADD, 2): 2.0, long: 4.0})
    assert [each.experiment for each in SecondOpinion(told, 0.02).measure([long, ADD])] == [long, ADD]
    assert told.asked == [long, ADD, multiple(ADD, 2)]
