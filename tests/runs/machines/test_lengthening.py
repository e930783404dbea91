"""Short instructions get prefixes where the front end of the machine is known to be slow with them."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from inference.core.core_model.scheduled_times import ScheduledTimes
from inference.core.core_model.scheduler_experiments import GroupedExperiment
from inference.core.experiment import Experiment
from inference.features.learning.inferring.core_facts import core_facts
from inference.features.learning.scheduler.job import SchedulerConfig, _bodies, _body_options
from inference.isa.targets import X86
from inference.isa.x86.assembling import unroll
from inference.isa.x86.bodies import loop_body
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.models import ExperimentSet, Machine, MeasuredFrontEnd, Run
from inference.runs.machines import measurer
from inference.storage.core_models import store_front_end
from tests.runs.machines.fixtures import claim

ADD = "add GPR[64]:RW, GPR[64]:R"


@pytest.fixture
def task(home):
    _, lease = claim(home)
    return SimpleNamespace(
        lease=lease,
        run=Run.objects.get(pk=lease.run_id),
        reporter=SimpleNamespace(emit=lambda event: None, pulse=lambda: None),
    )


@pytest.fixture
def computer(machine, monkeypatch: pytest.MonkeyPatch):
    """A computer, as far as what is measured there is assembled here."""
    monkeypatch.setattr(machine.isa, "name", X86)
    monkeypatch.setattr(machine, "facts", {"flags": ["avx2"]})
    return machine


def add_front_end(machine: Machine, min_mean_bytes: int) -> MeasuredFrontEnd:
    codes = front_end_codes(offsets=False)
    by_code = {
        reading.code: reading
        for reading in SimulatedFrontEnd(min_mean_bytes=min_mean_bytes).time([c.code for c in codes])
    }
    return store_front_end("front end", machine, [(code, by_code[code.code]) for code in codes], {})


def measuring(task, machine: Machine) -> RemoteMeasurer:
    with measurer.agent_measurer(task, machine, [ADD]) as measuring:
        return measuring


@pytest.mark.parametrize(("min_mean_bytes", "least"), [(5, 5), (0, 0)])
def test_instructions_are_lengthened_where_the_front_end_says_so(
    task, computer, min_mean_bytes: int, least: int
):
    row = add_front_end(computer, min_mean_bytes)
    MeasuredFrontEnd.objects.filter(pk=row.pk).update(created=task.run.created - timedelta(seconds=1))
    found = measuring(task, computer)
    assert found.identity.get("bodies", {}) == ({"least_bytes": least} if least else {})
    assert found._assemble([(ADD, 1)]).code == unroll([(ADD, 1)], least_bytes=least).code


def test_a_front_end_that_was_measured_after_the_run_began_changes_nothing_of_it(task, computer):
    add_front_end(computer, 5)
    assert "bodies" not in measuring(task, computer).identity


def test_without_a_front_end_bodies_are_the_usual_ones(task, computer):
    assert "bodies" not in measuring(task, computer).identity


def bytes_of(begun: datetime, computer: Machine) -> int:
    """Of the code that is simulated, as a search has it."""
    facts = core_facts(computer, [ADD], begun)
    assert isinstance(facts, ScheduledTimes)
    return facts.body_of(Experiment.of([ADD])).size


@pytest.mark.parametrize("min_mean_bytes", [5, 0])
def test_a_search_simulates_the_code_that_was_measured(task, computer, min_mean_bytes: int) -> None:
    row = add_front_end(computer, min_mean_bytes)
    later = row.created + timedelta(seconds=1)
    usual, longer = len(unroll([(ADD, 1)]).code), len(unroll([(ADD, 1)], least_bytes=min_mean_bytes).code)
    assert (usual < longer) == bool(min_mean_bytes)
    assert bytes_of(later, computer) == longer
    assert bytes_of(row.created - timedelta(seconds=1), computer) == usual


def test_so_does_the_search_for_a_scheduler(task, computer) -> None:
    row = add_front_end(computer, 5)
    recorded = ExperimentSet.objects.create(name="recorded", isa=computer.isa, machine=computer)
    for begun, least in ((row.created - timedelta(days=1), 0), (row.created + timedelta(days=1), 5)):
        task.run.created = begun
        ExperimentSet.objects.filter(pk=recorded.pk).update(created=begun)
        by_machine = SchedulerConfig(core_model=1, machine=computer.pk)
        by_set = SchedulerConfig(core_model=1, experiment_set=recorded.pk)
        for config in (by_machine, by_set):
            assert _body_options(task, config).least_bytes == least
    options = _body_options(task, by_set)
    ((body,)) = _bodies("x86-64", [(GroupedExperiment(Experiment.of([ADD]), ""), 0.25)], options)
    assert body.instructions == loop_body([(ADD, 1)], options).instructions
