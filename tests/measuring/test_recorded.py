from __future__ import annotations

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.measuring.recorded import RecordedMeasurer

ADD = Experiment.of({"add": 1})
MUL = Experiment.of({"mul": 1})


def test_repeats_answer_with_the_median_of_those_that_are_usable() -> None:
    measurer = RecordedMeasurer(
        [
            Measured(ADD, 1.0),
            Measured(ADD, 9.0, MeasurementState.UNSETTLED),
            Measured(ADD, 1.5),
            Measured(ADD, None, MeasurementState.FAILED, note="crash"),
            Measured(ADD, 1.1),
        ]
    )
    (answer,) = measurer.measure([ADD])
    assert answer.cycles == 1.1
    assert answer.passes == 3
    assert answer.spread == 0.5
    assert answer.usable


def test_repeats_of_which_none_is_usable_keep_their_state() -> None:
    measurer = RecordedMeasurer([Measured(ADD, 2.0, MeasurementState.UNSETTLED)] * 2)
    (answer,) = measurer.measure([ADD])
    assert answer.state is MeasurementState.UNSETTLED


def test_offers_come_once_each_in_the_order_recorded() -> None:
    measurer = RecordedMeasurer([Measured(MUL, 1.0), Measured(ADD, 1.0), Measured(MUL, 2.0)])
    assert measurer.offers() == (MUL, ADD)


def test_the_identity_ignores_the_order_of_recording_but_not_the_numbers() -> None:
    one, two = Measured(ADD, 1.0), Measured(MUL, 2.0)
    assert RecordedMeasurer([one, two]).identity == RecordedMeasurer([two, one]).identity
    assert RecordedMeasurer([one, two]).identity != RecordedMeasurer([one, Measured(MUL, 2.5)]).identity
