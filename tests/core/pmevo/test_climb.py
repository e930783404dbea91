from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.pacing import Pace
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.climb import climbed
from inference.core.pmevo.fitness import Judge, Slopes
from inference.core.pmevo.population import count_limits, random_population
from inference.core.tables import Population
from tests.core.pmevo.small import Listener

A, B, AB = Experiment.of({"a": 1}), Experiment.of({"b": 1}), Experiment.of({"a": 1, "b": 1})


def judge(times: dict[Experiment, float], r_max: float | None = None) -> Judge:
    schemes = sorted({scheme for experiment in times for scheme in experiment.schemes})
    settings = PMEvoSettings(ports=2, threads=1, r_max=r_max)
    return Judge(list(times), list(times.values()), schemes, settings, Pace(Listener()))


def climb(times: dict[Experiment, float], rows: list[Uops], slopes: Slopes) -> tuple[list[Uops], float]:
    population, error = climbed(judge(times), Population.from_rows(rows, 1, 2), 0, slopes)
    return [population.row(0, scheme) for scheme in range(len(rows))], error


def test_a_count_falls_while_the_error_does() -> None:
    assert climb({A: 2.0}, [((1, 5),)], Slopes(1, 0)) == ([((1, 2),)], 0.0)


def test_a_count_rises_while_the_error_falls() -> None:
    assert climb({A: 4.0}, [((1, 1),)], Slopes(1, 0)) == ([((1, 4),)], 0.0)


def test_uops_that_change_no_prediction_are_removed() -> None:
    # Port 1 is idle: two µops more there cost nothing, and go even if the volume has no weight.
    assert climb({A: 3.0}, [((1, 3), (2, 2))], Slopes(1, 0)) == ([((1, 3),)], 0.0)


def test_an_increment_that_changes_no_prediction_is_not_kept() -> None:
    assert climb({A: 2.0}, [((1, 2), (2, 1))], Slopes(1, 0))[0] == [((1, 2),)]


def test_volume_is_traded_for_error_at_the_scale_of_the_last_generation() -> None:
    cheap_volume, dear_volume = Slopes(1000, 1), Slopes(1000, 600)
    assert climb({A: 2.0}, [((1, 2),)], cheap_volume)[0] == [((1, 2),)]
    assert climb({A: 2.0}, [((1, 2),)], dear_volume)[0] == [((1, 1),)]


def test_a_scheme_that_was_measured_to_take_time_keeps_a_uop() -> None:
    assert climb({A: 1.0}, [((3, 1),)], Slopes(1, 1000))[0] == [((3, 1),)]


def test_a_scheme_may_use_no_port_where_another_bottleneck_explains_its_time() -> None:
    behind = judge({A: 0.25}, r_max=4.0)
    population, error = climbed(behind, Population.from_rows([((3, 1),)], 1, 2), 0, Slopes(1, 0))
    assert (population.row(0, 0), error) == ((), 0.0)


def test_the_error_returned_is_that_of_the_mapping_returned() -> None:
    times = {A: 1.4, B: 0.8, AB: 2.1}
    rows, error = climb(times, [((1, 3), (3, 1)), ((2, 1), (3, 4))], Slopes(1000, 5))
    again = judge(times).errors(Population.from_rows(rows, 1, 2))
    assert error == again[0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 50))
def test_the_hill_climb_never_makes_a_mapping_less_fit(seed: int, volume_slope: float) -> None:
    times = {A: 1.4, B: 0.8, AB: 2.1, Experiment.of({"a": 2, "b": 3}): 4.9}
    population = random_population(np.array([seed], dtype=np.uint64), count_limits([1.4, 0.8], 2, 0.05))
    slopes, arbiter = Slopes(1000, volume_slope), judge(times)
    before = slopes.fitness(arbiter.errors(population), population.volumes())
    better, error = climbed(arbiter, population, 0, slopes)
    after = slopes.fitness(np.array([error]), better.volumes())
    assert after[0] <= before[0] + 1e-9
