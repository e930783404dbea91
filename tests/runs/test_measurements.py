"""What a run measured is stored once, under its lease, and found again."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping
from inference.measuring.proxies import StoreBackedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ExperimentSet, Measurement, Run
from inference.runs import leases, lifecycle
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.kinds import RUN_KINDS
from inference.runs.measurements import RunMeasurements
from inference.storage.instruction_sets import new_isa
from tests.runs.counting.job import COUNTING

pytestmark = pytest.mark.django_db

A, B = Experiment.of({"a": 1}), Experiment.of({"a": 1, "b": 2})


@pytest.fixture
def isa():
    return new_isa("toy", ["a", "b"], "a test")


@pytest.fixture
def lease(monkeypatch):
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    lifecycle.submit("count", {}, "my run")
    return leases.claim("w")


def memory(lease, isa, identity=None, purpose="measurements", **options):
    return RunMeasurements(lease, isa, identity or {"seed": 1}, purpose, **options)


def test_the_set_is_named_after_the_run_and_made_with_the_first_results(lease, isa):
    store = memory(lease, isa)
    store.remember([])
    assert not ExperimentSet.objects.exists()
    store.remember([Measured(A, 1.0)])
    made = ExperimentSet.objects.get()
    assert (made.name, made.origin, made.run_id) == ("my run · measurements", "run", lease.run_id)
    assert made.identity == {"seed": 1}
    assert store.experiment_set == made


def test_a_resumed_run_finds_its_measurements_and_stores_none_twice(lease, isa):
    memory(lease, isa).remember([Measured(A, 1.0), Measured(B, 2.5)])
    again = memory(lease, isa)
    assert again.known([A, B]) == {A: Measured(A, 1.0), B: Measured(B, 2.5)}
    again.remember([Measured(A, 9.0), Measured(B, 9.0)])
    assert sorted(Measurement.objects.values_list("cycles", flat=True)) == [1.0, 2.5]
    assert ExperimentSet.objects.count() == 1


def test_new_results_are_progress_so_earlier_attempts_count_no_longer(lease, isa):
    attempts = Run.objects.filter(pk=lease.run_id)
    attempts.update(attempts=leases.MAX_ATTEMPTS)
    store = memory(lease, isa)
    store.remember([Measured(A, 1.0)])
    assert attempts.get().attempts == 1
    attempts.update(attempts=leases.MAX_ATTEMPTS)
    store.remember([Measured(A, 1.0)])
    assert attempts.get().attempts == leases.MAX_ATTEMPTS


def test_the_sets_of_a_run_are_told_apart_by_their_purpose(lease, isa):
    memory(lease, isa).remember([Measured(A, 1.0)])
    mixes = memory(lease, isa, purpose="five-scheme mixes")
    assert mixes.known([A]) == {}
    mixes.remember([Measured(A, 2.0)])
    assert set(ExperimentSet.objects.values_list("name", flat=True)) == {
        "my run · measurements",
        "my run · five-scheme mixes",
    }


def test_a_contended_answer_gives_way_to_a_later_one(lease, isa):
    memory(lease, isa).remember([Measured(A, 7.0, MeasurementState.CONTENDED)])
    memory(lease, isa).remember([Measured(A, 1.0)])
    assert list(Measurement.objects.values_list("state", "cycles")) == [("settled", 1.0)]


def test_nothing_is_stored_without_the_lease(lease, isa):
    store = memory(lease, isa)
    Run.objects.update(lease_token=lease.token + 1)
    with pytest.raises(LeaseLostError):
        store.remember([Measured(A, 1.0)])
    assert not Measurement.objects.exists()
    assert not ExperimentSet.objects.exists()


def test_measurements_of_something_else_are_refused(lease, isa):
    memory(lease, isa).remember([Measured(A, 1.0)])
    with pytest.raises(JobError, match="has changed since"):
        memory(lease, isa, {"seed": 2})


def test_it_serves_as_the_memory_of_a_measurer(lease, isa):
    mapping = PortMapping(("0", "1"), {"a": ((1, 1),), "b": ((3, 1),)})
    processor = SimulatedProcessor(mapping, noise=0.1, seed=3)
    first = list(StoreBackedMeasurer(processor, memory(lease, isa, processor.identity)).measure([A, B, A]))

    class Broken(SimulatedProcessor):
        def measure(self, experiments):
            assert not list(experiments), "everything has been measured before"
            yield from ()

    broken = Broken(mapping, noise=0.1, seed=3)
    assert list(StoreBackedMeasurer(broken, memory(lease, isa, broken.identity)).measure([A, B, A])) == first
    assert Measurement.objects.count() == 2


def test_repetitions_share_a_set_and_keep_their_results_apart(lease, isa):
    first, second = memory(lease, isa), memory(lease, isa, repeat=1)
    first.remember([Measured(A, 1.0), Measured(B, 2.0)])
    second.remember([Measured(A, 1.1, counters={"uops": 1.0})])
    assert ExperimentSet.objects.count() == 1
    assert sorted(Measurement.objects.values_list("repeat", "cycles")) == [(0, 1.0), (0, 2.0), (1, 1.1)]
    again = memory(lease, isa, repeat=1)
    assert again.known([A, B]) == {A: Measured(A, 1.1, counters={"uops": 1.0})}
    contended = Measured(B, 9.0, MeasurementState.CONTENDED)
    again.remember([contended])
    again.remember([Measured(B, 2.1)])
    assert memory(lease, isa).known([B])[B].cycles == 2.0
    assert memory(lease, isa, repeat=1).known([B])[B].cycles == 2.1
