"""Times are corrected by what a simulated scheduler wastes, and by nothing where none was simulated."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.waste import wasteful_times

MAPPING = PortMapping(("0", "1"), {"add": ((0b11, 1),), "mul": ((0b01, 1),)})
ADD, BOTH = Experiment.of({"add": 1}), Experiment.of({"add": 1, "mul": 1})
MEASURED = {ADD: 0.5, BOTH: 1.3}


def wasteful(mapping: PortMapping, experiment: Experiment) -> float | None:
    return 1.25 if experiment == BOTH else None


def test_each_time_is_divided_by_its_waste() -> None:
    times = wasteful_times(MEASURED, MAPPING, wasteful)
    assert times.predicted.tolist() == [0.5, 1.25]
    assert times.corrected == pytest.approx({ADD: 0.5, BOTH: 1.3 / 1.25})
    assert times.error == pytest.approx((1 - 1.25 / 1.3) / 2)
    assert times.error_of_bounds == pytest.approx((1 - 1.0 / 1.3) / 2)


def test_what_code_takes_on_any_ports_is_not_wasted() -> None:
    times = wasteful_times(MEASURED, MAPPING, wasteful, lower_bounds={BOTH: 1.3})
    assert times.bounds.tolist() == [0.5, 1.3]
    assert times.corrected == pytest.approx(MEASURED)


def test_a_simulation_below_the_bound_corrects_nothing() -> None:
    times = wasteful_times(MEASURED, MAPPING, lambda mapping, experiment: 0.1)
    assert times.corrected == pytest.approx(MEASURED)


def test_without_a_scheduler_times_stay() -> None:
    assert wasteful_times(MEASURED, MAPPING, None).corrected == pytest.approx(MEASURED)
