"""Measuring runs: a plan on a machine becomes an experiment set."""

from __future__ import annotations

import pytest

from inference.features.machines.measure.request import estimate_effort
from inference.models import ExperimentSet, Machine, Measurement, Run
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError
from inference.runs.fork_server import StopRequests, execute
from inference.storage.rows import load_measurements
from tests.runs.agents import TRUTH, attempt, do, impatient, make_machine, put_agent
from tests.runs.fixtures import payloads
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine():
    made = make_machine()
    made.isa.schemes.filter(text__in=["crash", "wobble"]).delete()
    return made


def measure(machine, **config):
    return do("measure", {"machine": machine.pk, "schemes": "all", **config})


def test_the_set_is_named_after_the_run_and_is_its_result(machine, monkeypatch):
    put_agent(monkeypatch)
    run = measure(machine, plan="singletons")
    assert run.state == "done", run.error
    made = ExperimentSet.objects.get()
    assert (made.name, made.run, made.machine, made.origin) == ("a run", run, machine, "run")
    assert run.result["experiment_set"] == made.pk
    assert (run.result["experiments"], run.result["settled"]) == (len(TRUTH.usage), len(TRUTH.usage))
    assert {m.experiment.length for m in load_measurements(made)} == {1}
    assert payloads(run, "result") == [run.result]


def test_pairs_are_those_of_pmevos_plan(machine, monkeypatch):
    put_agent(monkeypatch)
    run = measure(machine, plan="pairs")
    n = len(TRUTH.usage)
    lengths = [m.experiment.length for m in load_measurements(ExperimentSet.objects.get())]
    assert lengths.count(1) == n
    assert lengths.count(2) == n * (n - 1) // 2
    assert max(lengths) > 2, "1:n experiments"
    last = payloads(run, "progress")[-1]
    assert (last["phase"], last["done"], last["total"], last["eta"]) == (
        "measuring",
        len(lengths),
        len(lengths),
        0,
    )


def test_mixes_have_the_length_and_the_number_asked_for(machine, monkeypatch):
    put_agent(monkeypatch)
    measure(machine, plan="mixes", mixes=30, length=3)
    mixes = [m.experiment for m in load_measurements(ExperimentSet.objects.get())]
    assert len(mixes) == len(set(mixes)) == 30
    assert {mix.length for mix in mixes} == {3}


def test_another_seed_gives_other_mixes(machine, monkeypatch):
    put_agent(monkeypatch)
    for seed, name in ((1, "one"), (2, "two"), (1, "three")):
        do(
            "measure",
            {"machine": machine.pk, "schemes": "all", "plan": "mixes", "mixes": 20, "seed": seed},
            name,
        )
    one, two, three = (
        {m.experiment for m in load_measurements(ExperimentSet.objects.get(name=name))}
        for name in ("one", "two", "three")
    )
    assert one == three != two


def test_what_was_measured_before_a_cancel_stays(machine, monkeypatch):
    boards = put_agent(monkeypatch, pace=400)
    run = lifecycle.submit(
        "measure", {"machine": machine.pk, "schemes": "all", "plan": "mixes", "mixes": 500}, "a run"
    )
    lease = leases.claim("w")

    class Cancelling(StopRequests):
        def __call__(self):
            if boards.posted <= 300:
                return ""
            lifecycle.cancel(run)
            return "cancel"

    execute(lease, Cancelling(lease))
    run.refresh_from_db()
    assert run.state == "cancelled"
    kept = load_measurements(ExperimentSet.objects.get(run=run))
    assert 24 <= len(kept) < 500
    assert all(result.usable for result in kept)
    assert boards.opened[-1].closed


def test_a_run_that_is_stopped_to_keep_what_there_is_has_it_as_its_result(machine, monkeypatch):
    boards = put_agent(monkeypatch, pace=400)
    run = lifecycle.submit(
        "measure", {"machine": machine.pk, "schemes": "all", "plan": "mixes", "mixes": 500}, "a run"
    )
    lease = leases.claim("w")

    class Keeping(StopRequests):
        def __call__(self):
            return "" if boards.posted <= 300 else lifecycle.keep(run).wanted

    execute(lease, Keeping(lease))
    run.refresh_from_db()
    assert run.state == "done", run.error
    made = ExperimentSet.objects.get(run=run)
    assert run.result["experiment_set"] == made.pk
    assert 24 <= made.measurements.count() == run.result["experiments"] < 500


def test_an_interrupted_run_goes_on_where_it_was(machine, monkeypatch):
    boards = put_agent(monkeypatch)
    run = lifecycle.submit(
        "measure", {"machine": machine.pk, "schemes": "all", "plan": "mixes", "mixes": 200}, "a run"
    )
    attempt(run, impatient(60))
    assert run.state == "queued"
    assert 0 < Measurement.objects.count() < 200
    attempt(run)
    assert run.state == "done", run.error
    assert Measurement.objects.count() == run.result["experiments"] == 200
    assert ExperimentSet.objects.count() == 1
    assert boards.posted < 2 * 200


def test_a_machine_may_be_renamed_while_its_run_is_interrupted(machine, monkeypatch):
    put_agent(monkeypatch)
    run = lifecycle.submit(
        "measure", {"machine": machine.pk, "schemes": "all", "plan": "mixes", "mixes": 200}, "a run"
    )
    attempt(run, impatient(60))
    assert 0 < Measurement.objects.count() < 200
    Machine.objects.filter(pk=machine.pk).update(name="another name")
    attempt(run)
    assert run.state == "done", run.error
    assert Measurement.objects.count() == 200


def test_a_simulated_machine_measures_as_well():
    machine = make_machine(name="agentless")
    machine = simulated_machine(machine.isa, TRUTH)
    run = measure(machine, plan="singletons")
    assert run.state == "done", run.error
    assert run.result["settled"] == len(TRUTH.usage)


def test_a_deleted_machine_is_a_readable_failure(machine):
    run = lifecycle.submit("measure", {"machine": machine.pk}, "late")
    machine.delete()
    attempt(run)
    assert run.error == "the machine that this run needs has been deleted"


def test_the_description_is_completed(machine):
    run = lifecycle.submit("measure", {"machine": machine.pk}, "a run")
    assert run.config == {
        "machine": machine.pk,
        "isa": "toy",
        "schemes": "starter",
        "scheme_filter": "",
        "plan": "pairs",
        "mixes": 1000,
        "length": 5,
        "seed": 1,
        "experiments": [],
        "repeats": 1,
        "unroll": 100,
        "breaking": False,
        "values": "usual",
    }
    assert lifecycle.submit("measure", run.config, "again").config == run.config


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"machine": 999}, "machine: there is no machine with the id 999"),
        ({"plan": "guess"}, "plan must be one of singletons, pairs, mixes"),
        ({"mixes": 0}, "mixes must be a whole number from 1"),
        ({"length": 51}, "length must be a whole number from 1 to 50"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"schemes": "some"}, "all, default, starter, probes, legacy-sse, mmx, x87, avx512 or a list"),
        ({"colour": 1}, "no field 'colour'"),
        ({"isa": "arm"}, "the machine is for 'toy'"),
    ],
)
def test_a_wrong_description_is_refused_with_the_field(machine, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        lifecycle.submit("measure", {"machine": machine.pk, **change}, "wrong")


def test_the_effort_is_told_beforehand(machine):
    machine.rate = 100
    assert estimate_effort(machine, 53, "singletons").experiments == 53
    assert estimate_effort(machine, 53, "pairs").experiments == 53 + 1378 + 918
    assert (
        estimate_effort(machine, 53, "mixes", 600).experiments,
        estimate_effort(machine, 53, "mixes", 600).seconds,
    ) == (
        600,
        6,
    )


def test_estimates_go_by_what_earlier_runs_took(machine):
    machine.rate = 100.0
    assert estimate_effort(machine, 50, "singletons").seconds == 0.5
    for busy, experiments in ((30.0, 100), (50.0, 100), (900.0, 100), (9.0, 3)):
        run = lifecycle.submit("measure", {"machine": machine.pk, "schemes": "all"}, f"took {busy}")
        Run.objects.filter(pk=run.pk).update(
            state="done", busy_seconds=busy, result={"experiments": experiments}
        )
    assert estimate_effort(machine, 50, "singletons").seconds == 25.0
