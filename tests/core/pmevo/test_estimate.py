from __future__ import annotations

import pytest

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.pmevo import PMEvoSettings, estimate
from inference.core.pmevo.estimate import estimated_classes, planned_experiments
from inference.core.pmevo.plan import pairs
from tests.core.pmevo.test_adaptive import asking, run


def test_recorded_data_needs_no_measuring() -> None:
    told = estimate(310, PMEvoSettings(ports=9), recorded=6310, seconds_per_experiment=1.0)
    assert told.experiments == 6310
    assert told.measuring_seconds == 0
    assert told.seconds == told.computing_seconds > 0


@pytest.mark.parametrize("distinct", [4, 40])
def test_the_number_of_experiments_is_about_that_of_the_plan(distinct: int) -> None:
    times = {f"scheme {k:02}": 0.25 * (1 + k % distinct) for k in range(40)}
    plan: list[Experiment] = list(pairs(times, 0.05))
    told = estimate(40, PMEvoSettings(plan="exhaustive"))
    assert told.experiments == pytest.approx(len(plan) + 40, rel=0.25)


def test_more_of_anything_takes_longer_and_more_processors_less() -> None:
    base = estimate(
        50, PMEvoSettings(ports=8, population=1000, search="evolution"), seconds_per_experiment=0.01
    )
    for schemes, settings in (
        (60, PMEvoSettings(ports=8, population=1000, search="evolution")),
        (50, PMEvoSettings(ports=9, population=1000, search="evolution")),
        (50, PMEvoSettings(ports=8, population=1100, search="evolution")),
    ):
        assert estimate(schemes, settings, seconds_per_experiment=0.01).seconds > base.seconds
    two = estimate(
        50,
        PMEvoSettings(ports=8, population=1000, search="evolution"),
        seconds_per_experiment=0.01,
        processors=2,
    )
    assert base.computing_seconds / 2 < two.computing_seconds < base.computing_seconds
    assert two.measuring_seconds == base.measuring_seconds


@pytest.mark.parametrize("n", [60, 150])
def test_the_adaptive_plan_takes_about_what_it_is_said_to(n: int) -> None:
    usage = {f"s{k:03}": ((1 << k % 7 | 1 << k % 5, 1 + k % 4),) for k in range(n)}
    mapping = PortMapping(tuple("0123456"), usage)
    _, known = run(mapping, asking(mapping, 0.005))
    settings = PMEvoSettings(plan="adaptive")
    assert 0.5 < planned_experiments(n, settings) / len(known) < 2
    assert estimate(n, settings).experiments == planned_experiments(n, settings)


def test_the_adaptive_plan_never_has_more_than_the_exhaustive_one_and_grows_more_slowly() -> None:
    for n in (2, 10, 40, 100, 1000):
        adaptive, exhaustive = (
            planned_experiments(n, PMEvoSettings(plan=name)) for name in ("adaptive", "exhaustive")
        )
        assert adaptive <= exhaustive
    assert adaptive < exhaustive / 8


def test_mixes_to_learn_from_are_counted_per_class() -> None:
    few, many = (planned_experiments(100, PMEvoSettings(learnt_mixes=mixes)) for mixes in (0.0, 4.0))
    assert many - few == 4 * estimated_classes(100)


def test_the_re_fit_is_estimated_by_its_rounds_and_starts() -> None:
    one = estimate(310, PMEvoSettings(ports=9, starts=1), recorded=6310)
    two = estimate(310, PMEvoSettings(ports=9, starts=2), recorded=6310)
    more = estimate(310, PMEvoSettings(ports=9, starts=1, rounds=16), recorded=6310)
    assert two.computing_seconds == 2 * one.computing_seconds
    assert more.computing_seconds > one.computing_seconds
    both = estimate(310, PMEvoSettings(ports=9, starts=1, search="both"), recorded=6310)
    assert both.computing_seconds > one.computing_seconds
