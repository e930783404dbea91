from __future__ import annotations

import statistics

import pytest

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment, MeasurementState
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput
from inference.measuring.simulated import BATCH_SIZE, SimulatedProcessor

MAPPING = PortMapping(("0", "1"), {"add": ((0b11, 1),), "mul": ((0b1, 1),), "nop": ()}, r_max=4.0)
MANY = [Experiment.of({"add": k, "mul": 1}) for k in range(1, 2 * BATCH_SIZE)]


def test_without_noise_the_answer_is_the_inverse_throughput_of_the_mapping() -> None:
    for result in SimulatedProcessor(MAPPING).measure(MANY):
        assert result.cycles == inverse_throughput(MAPPING, result.experiment)


def test_noise_scatters_around_the_truth_as_widely_as_asked() -> None:
    factors = [
        result.cycles / inverse_throughput(MAPPING, result.experiment)
        for result in SimulatedProcessor(MAPPING, noise=0.1, seed=3).measure(MANY)
        if result.cycles is not None
    ]
    assert statistics.mean(factors) == pytest.approx(1, abs=0.02)
    assert statistics.stdev(factors) == pytest.approx(0.1, rel=0.15)


def test_outliers_are_as_frequent_and_as_large_as_asked() -> None:
    results = SimulatedProcessor(MAPPING, outlier_share=0.2, outlier_factor=5.0).measure(MANY)
    factors = [round((r.cycles or 0) / inverse_throughput(MAPPING, r.experiment), 6) for r in results]
    assert set(factors) == {1.0, 5.0}
    assert 0.14 < factors.count(5.0) / len(factors) < 0.26


def test_the_seed_changes_the_noise() -> None:
    one, two = (SimulatedProcessor(MAPPING, noise=0.1, seed=seed) for seed in (1, 2))
    pairs = zip(one.measure(MANY), two.measure(MANY), strict=True)
    assert all(a.cycles != b.cycles for a, b in pairs)


def test_a_scheme_without_ports_is_limited_by_the_other_bottleneck() -> None:
    (result,) = SimulatedProcessor(MAPPING).measure([Experiment.of({"nop": 2})])
    assert result.cycles == 0.5


def test_what_takes_no_time_is_a_failure() -> None:
    unlimited = PortMapping(("0",), {"nop": ()})
    (result,) = SimulatedProcessor(unlimited).measure([Experiment.of({"nop": 2})])
    assert result.state is MeasurementState.FAILED


@pytest.mark.parametrize(
    "parameters", [{"noise": -0.1}, {"noise": 1.0}, {"outlier_share": 1.1}, {"outlier_factor": 0.0}]
)
def test_parameters_outside_their_domain_are_refused_by_name(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        SimulatedProcessor(MAPPING, **parameters)
