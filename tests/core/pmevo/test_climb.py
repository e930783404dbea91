from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.pacing import PacedReporter
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.climb import Climb, distinct_mappings, local_optima
from inference.core.pmevo.fitness import FitnessGate, Slopes
from inference.core.pmevo.population import count_limits, random_population
from inference.core.tables import Population
from tests.core.pmevo.small import Listener
from tests.drawn import examples

FIRST = np.array([0])
A, B, AB = Experiment.of({"a": 1}), Experiment.of({"b": 1}), Experiment.of({"a": 1, "b": 1})

MIXES = {A: 1.4, B: 0.8, AB: 2.1, Experiment.of({"a": 2, "b": 3}): 4.9}


def judge(
    times: dict[Experiment, float], r_max: float | None = None, threads: int = 1, objective: str = "mean"
) -> FitnessGate:
    schemes = sorted({scheme for experiment in times for scheme in experiment.schemes})
    settings = PMEvoSettings(ports=2, threads=threads, r_max=r_max, objective=objective)
    return FitnessGate(list(times), list(times.values()), schemes, settings, PacedReporter(Listener()))


def climb(times: dict[Experiment, float], rows: list[Uops], slopes: Slopes) -> tuple[list[Uops], float]:
    population, errors = local_optima(judge(times), Population.from_rows(rows, 1, 2), FIRST, slopes)
    return [population.row(0, scheme) for scheme in range(len(rows))], float(errors[0])


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
    population, errors = local_optima(behind, Population.from_rows([((3, 1),)], 1, 2), FIRST, Slopes(1, 0))
    assert (population.row(0, 0), errors[0]) == ((), 0.0)


def test_the_error_returned_is_that_of_the_mapping_returned() -> None:
    times = {A: 1.4, B: 0.8, AB: 2.1}
    rows, error = climb(times, [((1, 3), (3, 1)), ((2, 1), (3, 4))], Slopes(1000, 5))
    again = judge(times).errors(Population.from_rows(rows, 1, 2))
    assert error == again[0]


@examples(50)
@given(st.integers(0, 10_000), st.floats(0, 50))
def test_the_hill_climb_never_makes_a_mapping_less_fit(seed: int, volume_slope: float) -> None:
    times = MIXES
    population = random_population(np.array([seed], dtype=np.uint64), count_limits([1.4, 0.8], 2, 0.05))
    slopes, arbiter = Slopes(1000, volume_slope), judge(times)
    before = slopes.fitness(arbiter.errors(population), population.volumes())
    better, errors = local_optima(arbiter, population, FIRST, slopes)
    after = slopes.fitness(errors, better.volumes())
    assert after[0] <= before[0] + 1e-9


def plainly_climbed(
    arbiter: FitnessGate, population: Population, index: int, slopes: Slopes
) -> tuple[list[Uops], float]:
    """The hill climb as the paper words it, a step at a time; every step evaluates the mapping anew."""
    rows = [population.row(index, scheme) for scheme in range(population.n_schemes)]

    def error() -> float:
        now = Population.from_rows(rows, 1, population.n_ports)
        return float(arbiter.evaluator.mean_loss(now, arbiter.measured, arbiter.loss)[0])

    def step(scheme: int, mask: int, change: int) -> bool:
        before, old = rows[scheme], error()
        count = dict(before).get(mask, 0)
        if count == 0 or (count + change == 0 and len(before) == 1 and arbiter.settings.r_max is None):
            return False
        rows[scheme] = tuple((m, n + change * (m == mask)) for m, n in before if m != mask or n + change > 0)
        worse = slopes.error * (error() - old) + slopes.volume * change * mask.bit_count()
        if worse < 0 or (worse == 0 and change < 0):
            return True
        rows[scheme] = before
        return False

    for scheme in range(population.n_schemes):
        for mask, _ in rows[scheme]:
            moved = False
            while step(scheme, mask, -1):
                moved = True
            while not moved and step(scheme, mask, +1):
                pass
    return rows, error()


@examples(50)
@given(
    st.integers(0, 10_000),
    st.floats(0, 50),
    st.sampled_from([None, 1.0]),
    st.sampled_from([1, 3]),
    st.sampled_from(["mean", "bounded"]),
)
def test_a_climb_takes_the_steps_of_the_paper(
    seed: int, volume_slope: float, r_max: float | None, threads: int, objective: str
) -> None:
    arbiter, slopes = judge(MIXES, r_max, threads, objective), Slopes(1000, volume_slope)
    seeds = np.arange(seed, seed + 5, dtype=np.uint64)
    population = random_population(seeds, count_limits([1.4, 0.8], 2, 0.05))
    picks = np.array([3, 0, 4])
    better, errors = local_optima(arbiter, population, picks, slopes)
    for k, pick in enumerate(picks.tolist()):
        rows, error = plainly_climbed(arbiter, population, pick, slopes)
        assert [better.row(k, s) for s in range(2)] == rows
        assert errors[k] == error


def evolved(n: int) -> Evolution:
    arbiter = judge(MIXES)
    population = random_population(np.arange(n, dtype=np.uint64), count_limits([1.4, 0.8], 2, 0.05))
    errors, volumes = arbiter.errors(population), population.volumes()
    slopes = Slopes.of(errors, volumes, arbiter.settings, None)
    return Evolution(4, population, errors, volumes, slopes)


def test_equal_mappings_are_climbed_from_once_in_the_order_of_their_fitness() -> None:
    whole = evolved(60)
    rows = [tuple(whole.population.row(m, s) for s in range(2)) for m in range(60)]
    first = [m for m in range(60) if rows[m] not in rows[:m]]
    starts = distinct_mappings(whole, 7)
    assert [tuple(starts.population.row(k, s) for s in range(2)) for k in range(7)] == [
        rows[m] for m in first[:7]
    ]
    assert starts.errors.tolist() == whole.errors[first[:7]].tolist()
    assert distinct_mappings(whole, 60).population.n_mappings == len(first) < 60


def test_climbs_in_pieces_taken_up_anywhere_end_where_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = evolved(11)
    whole = Climb(judge(MIXES), starts, 0)
    whole.go_on()
    assert whole.done == whole.total == 11
    monkeypatch.setattr("inference.core.pmevo.climb.MAPPINGS_PER_STEP", 4)
    state, done = starts, 0
    while done < 11:
        climb = Climb(judge(MIXES), state, done)
        climb.go_on()
        state, done = climb.state(), climb.done
    assert state.errors.tolist() == whole.state().errors.tolist()
    assert state.volumes.tolist() == state.population.volumes().tolist()
    for m in range(11):
        for s in range(2):
            assert state.population.row(m, s) == whole.state().population.row(m, s)
