from __future__ import annotations

import pytest

from inference.core.experiment import Experiment
from inference.core.pmevo import PMEvoSettings, estimate
from inference.core.pmevo.plan import pairs


def test_recorded_data_needs_no_measuring() -> None:
    told = estimate(310, PMEvoSettings(ports=9), recorded=6310, seconds_per_experiment=1.0)
    assert told.experiments == 6310
    assert told.measuring_seconds == 0
    assert told.seconds == told.computing_seconds > 0


@pytest.mark.parametrize("distinct", [4, 40])
def test_the_number_of_experiments_is_about_that_of_the_plan(distinct: int) -> None:
    times = {f"scheme {k:02}": 0.25 * (1 + k % distinct) for k in range(40)}
    plan: list[Experiment] = list(pairs(times, 0.05))
    told = estimate(40, PMEvoSettings())
    assert told.experiments == pytest.approx(len(plan) + 40, rel=0.25)


def test_more_of_anything_takes_longer_and_more_processors_less() -> None:
    base = estimate(50, PMEvoSettings(ports=8, population=1000), seconds_per_experiment=0.01)
    for schemes, settings in (
        (60, PMEvoSettings(ports=8, population=1000)),
        (50, PMEvoSettings(ports=9, population=1000)),
        (50, PMEvoSettings(ports=8, population=1100)),
    ):
        assert estimate(schemes, settings, seconds_per_experiment=0.01).seconds > base.seconds
    two = estimate(50, PMEvoSettings(ports=8, population=1000), seconds_per_experiment=0.01, processors=2)
    assert base.computing_seconds / 2 < two.computing_seconds < base.computing_seconds
    assert two.measuring_seconds == base.measuring_seconds
