"""How often something is measured, and what is unstable."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment, MeasurementState
from inference.core.explain.sampling import MIN_NOISE, NOT_RECORDED, MeasurementSampler, Medians
from inference.core.pacing import PacedReporter
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import Quirk, SimulatedProcessor
from tests.core.explain.small import DISTURBED, ZENLIKE, DisturbedProcessor
from tests.core.pmevo.small import Listener

ADD = Experiment.of(["add"])
MIX = Experiment.of(["add", "add", "load"])


def sampler(processor: SimulatedProcessor | RecordedMeasurer, most: int = 1000) -> MeasurementSampler:
    return MeasurementSampler(processor, PacedReporter(Listener()), most)


def test_the_noise_is_learnt_from_pairs_of_samples() -> None:
    found = sampler(SimulatedProcessor(ZENLIKE, noise_cpi=0.005))
    experiments = [Experiment.of([scheme, other]) for scheme in ZENLIKE.usage for other in ZENLIKE.usage]
    found.sample(dict.fromkeys(experiments, 2))
    found.learn_noise(set(experiments))
    assert found.noise == pytest.approx(0.005, rel=0.35)


def test_as_many_samples_are_taken_as_the_wanted_error_needs() -> None:
    found = sampler(SimulatedProcessor(ZENLIKE, noise_cpi=0.005), most=50)
    found.noise = 0.005
    assert found.n_samples(ADD, 0.01, 1) == 1
    assert found.n_samples(ADD, 0.001, 1) == 40
    assert found.n_samples(MIX, 0.0001, 1) == 50
    assert found.n_samples(ADD, 0.01, 5) == 5


def test_what_cannot_be_repeated_is_measured_once() -> None:
    recorded = RecordedMeasurer(SimulatedProcessor(ZENLIKE).measure([ADD]))
    found = sampler(recorded)
    found.sample({ADD: 10, MIX: 3})
    assert found.reading(ADD).samples == 1
    assert found.reading(MIX).note == NOT_RECORDED
    assert not found.repeats


def test_medians_answer_like_a_measurer() -> None:
    found = sampler(SimulatedProcessor(ZENLIKE, noise_cpi=0.01))
    found.noise = 0.01
    (answer,) = Medians(found, 1, 0.001).measure([ADD])
    assert answer.passes > 100
    assert answer.cycles == pytest.approx(0.25, abs=0.004)
    (failed,) = Medians(found, 1, 0.001).measure([Experiment.of(["stranger"])])
    assert failed.state is MeasurementState.FAILED


def test_two_speeds_are_unstable_and_noise_is_not() -> None:
    processor = SimulatedProcessor(ZENLIKE, noise_cpi=0.002, quirks={"load": Quirk.TWO_SPEEDS})
    found = sampler(processor)
    found.sample({MIX: 12, Experiment.of(["add", "imul"]): 12})
    assert found.is_unstable(MIX, 0.06)
    assert not found.is_unstable(Experiment.of(["add", "imul"]), 0.06)
    assert found.noise == MIN_NOISE


def test_what_is_forgotten_counts_no_longer() -> None:
    found = sampler(DisturbedProcessor(ZENLIKE, lambda experiment, repetition: repetition < 2))
    found.sample({MIX: 2, ADD: 1})
    assert found.reading(MIX).cycles == pytest.approx(DISTURBED * 0.5)
    found.forget([MIX])
    found.sample({MIX: 3})
    assert found.reading(MIX).cycles == pytest.approx(0.5)
    assert (found.count(MIX), found.count(ADD)) == (3, 1)
    found.sample({MIX: 3})
    assert found.measurements == 6


def test_recorded_data_stay_what_they_are() -> None:
    found = sampler(RecordedMeasurer(SimulatedProcessor(ZENLIKE).measure([ADD])))
    found.sample({ADD: 3})
    found.forget([ADD])
    found.sample({ADD: 3})
    assert found.reading(ADD).samples == 1
