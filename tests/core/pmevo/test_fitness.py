from __future__ import annotations

import numpy as np
import pytest

from inference.core.pacing import PacedReporter
from inference.core.pmevo import PMEvoSettings
from inference.core.pmevo.fitness import SCALE, FitnessGate, Slopes
from inference.core.pmevo.population import count_limits, random_population
from inference.core.throughput import inverse_throughput
from tests.core.pmevo.small import MAPPING, SETTINGS, Listener, processor

ERRORS = np.array([0.2, 0.5, 0.3])
VOLUMES = np.array([30, 10, 20])


def slopes(previous: Slopes | None = None, **settings: object) -> Slopes:
    return Slopes.of(ERRORS, VOLUMES, PMEvoSettings.parse(settings), previous)


def test_each_objective_spans_a_thousand_points_in_a_generation() -> None:
    found = slopes(scaling="range", volume_weight=1.0)
    assert np.ptp(ERRORS) * found.error == pytest.approx(SCALE)
    assert np.ptp(VOLUMES) * found.volume == pytest.approx(SCALE)


def test_scaling_from_zero_gives_the_largest_a_thousand_points() -> None:
    found = slopes(scaling="zero", volume_weight=1.0)
    assert ERRORS.max() * found.error == pytest.approx(SCALE)
    assert VOLUMES.max() * found.volume == pytest.approx(SCALE)


def test_the_weight_of_the_volume_can_be_turned_off() -> None:
    found = slopes(volume_weight=0.0)
    assert found.volume == 0
    assert np.argsort(found.fitness(ERRORS, VOLUMES)).tolist() == [0, 2, 1]


def test_smaller_is_fitter_in_both_objectives() -> None:
    found = slopes(volume_weight=1.0)
    base = found.fitness(np.array([0.3]), np.array([20]))
    assert found.fitness(np.array([0.31]), np.array([20])) > base
    assert found.fitness(np.array([0.3]), np.array([21])) > base


def test_an_objective_without_a_range_keeps_the_scale_of_the_generation_before() -> None:
    before = Slopes(error=7.0, volume=3.0)
    settings = PMEvoSettings(scaling="range", volume_weight=1.0)
    same_error = Slopes.of(np.array([0.2, 0.2]), np.array([1, 3]), settings, before)
    assert same_error == Slopes(error=7.0, volume=SCALE / 2)
    same_volume = Slopes.of(np.array([0.2, 0.4]), np.array([3, 3]), settings, before)
    assert same_volume == Slopes(error=pytest.approx(SCALE / 0.2), volume=3.0)


def test_without_range_or_past_the_scale_starts_from_zero() -> None:
    settings = PMEvoSettings(scaling="range", volume_weight=0.5)
    found = Slopes.of(np.array([0.2, 0.2]), np.array([4, 4]), settings, None)
    assert found == Slopes(error=pytest.approx(SCALE / 0.2), volume=SCALE / 4 * 0.5)


def loss(error: float, objective: str, spread: float) -> float:
    if objective == "mean":
        return abs(error)
    wide = spread if error > 0 else 2 * spread
    return error**2 / (error**2 + wide**2) * (2 if error > 0 else 1) + 0.15 * min(1.0, abs(error))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("objective", ["mean", "bounded"])
def test_errors_are_d_avg_of_the_thesis_or_the_bounded_loss_whatever_the_threads(
    threads: int, objective: str
) -> None:
    changed = {"threads": threads, "r_max": 3.0, "objective": objective}
    settings = PMEvoSettings.parse(SETTINGS.as_json() | changed)
    experiments = [r.experiment for r in processor().measure(_experiments())]
    measured = [r.cycles or 0 for r in processor().measure(experiments)]
    schemes = sorted(MAPPING.usage)
    judge = FitnessGate(experiments, measured, schemes, settings, PacedReporter(Listener()))
    population = random_population(np.arange(9, dtype=np.uint64), count_limits([1.0] * 5, 3, 0.05))
    errors = judge.errors(population)
    for m in range(9):
        mapping = population.mapping(m, schemes, MAPPING.ports, r_max=3.0)
        each = [
            loss((inverse_throughput(mapping, e) - t) / t, objective, settings.spread)
            for e, t in zip(experiments, measured, strict=True)
        ]
        assert errors[m] == pytest.approx(sum(each) / len(each), abs=2**-32)
    assert judge.evaluations == 9


def _experiments() -> list:
    from inference.core.pmevo.plan import pairs, singletons

    alone = singletons(sorted(MAPPING.usage))
    times = {r.experiment.schemes[0]: r.cycles or 0 for r in processor().measure(alone)}
    return [*alone, *pairs(times, 0.05)]
