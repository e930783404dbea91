"""Measuring runs of experiments that are given one by one."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from inference.features.machines.measure.request import MAX_LENGTH, MAX_LISTED, estimate_effort
from inference.models import ExperimentSet, Measurement, Run
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.rows import load_measurements
from tests.runs.agents import TRUTH, attempt, do, impatient, make_machine, put_agent
from tests.runs.fixtures import payloads
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db

FLOOD, TESTED = "10*alu", "10*alu; mul"


@pytest.fixture
def machine():
    return make_machine()


def make_simulated(**facts):
    isa = make_machine(name="away", facts={}).isa
    return simulated_machine(isa, TRUTH, **facts)


def config(machine, *experiments, **other):
    return {"machine": machine.pk, "plan": "listed", "experiments": list(experiments), **other}


def test_exactly_the_listed_experiments_are_measured(machine, monkeypatch):
    put_agent(monkeypatch)
    run = do("measure", config(machine, FLOOD, TESTED))
    assert run.state == "done", run.error
    results = load_measurements(ExperimentSet.objects.get())
    assert {str(result.experiment): round(result.cycles, 3) for result in results} == {
        FLOOD: 3.333,
        TESTED: 3.667,
    }
    assert (run.result["experiments"], payloads(run, "progress")[-1]["total"]) == (2, 2)


def test_each_is_measured_as_often_as_asked(monkeypatch):
    machine = make_simulated(noise=0.01, seed=3)
    run = do("measure", config(machine, FLOOD, TESTED, repeats=4))
    assert run.state == "done", run.error
    rows = Measurement.objects.filter(experiment__key__endswith=":10").order_by("repeat")
    assert list(rows.values_list("repeat", flat=True)) == [0, 1, 2, 3]
    assert len(set(rows.values_list("cycles", flat=True))) == 4, "measured anew, not remembered"
    assert run.result["experiments"] == 8
    assert payloads(run, "progress")[-1]["done"] == 8


def test_an_agent_measures_every_repetition_anew(machine, monkeypatch):
    boards = put_agent(monkeypatch)
    run = do("measure", config(machine, FLOOD, TESTED, repeats=3))
    assert run.state == "done", run.error
    assert boards.posted == 6
    assert ExperimentSet.objects.get().measurements.count() == 6


def test_an_interrupted_run_keeps_its_repetitions(machine, monkeypatch):
    boards = put_agent(monkeypatch)
    run = lifecycle.submit("measure", config(machine, FLOOD, TESTED, "mul", repeats=20), "a run")
    attempt(run, impatient(25))
    assert run.state == "queued"
    attempt(run)
    assert run.state == "done", run.error
    assert ExperimentSet.objects.get().measurements.count() == 60
    assert boards.posted < 120


def test_the_description_names_schemes_and_canonical_experiments(machine):
    run = lifecycle.submit("measure", config(machine, "mul; 10*alu", TESTED, repeats=2), "a run")
    ids = dict(machine.isa.schemes.values_list("text", "pk"))
    assert run.config["experiments"] == [TESTED]
    assert run.config["schemes"] == sorted([ids["alu"], ids["mul"]])
    assert lifecycle.submit("measure", run.config, "again").config == run.config


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"experiments": []}, f"a list of 1 to {MAX_LISTED:,}, not 0"),
        ({"experiments": "alu"}, "must be a list of texts"),
        ({"experiments": [1]}, "must be a list of texts"),
        ({"experiments": ["alu"] * (MAX_LISTED + 1)}, "not 1,001"),
        ({"experiments": ["add"]}, "toy has no scheme 'add'"),
        ({"experiments": ["alu; ; mul"]}, "empty term"),
        ({"experiments": [f"{MAX_LENGTH + 1}*alu"]}, "at most 1,500 instructions"),
        ({"experiments": ["alu"], "repeats": 601}, "repeats must be a whole number from 1 to 600"),
        ({"experiments": ["alu"], "plan": "pairs"}, "experiments go with the plan 'listed'"),
        ({"repeats": 2, "plan": "pairs"}, "repeats go with the plan"),
    ],
)
def test_a_wrong_list_is_refused(machine, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        lifecycle.submit("measure", {"machine": machine.pk, "plan": "listed", **change}, "wrong")
    assert not Run.objects.exists()


def test_what_the_machine_cannot_measure_is_left_out_or_fails_readably(monkeypatch):
    machine = make_simulated()
    assert do("measure", config(machine, FLOOD, "crash")).result["experiments"] == 1
    run = do("measure", config(machine, "crash; alu"), "hopeless")
    assert run.error == "the machine can measure none of the listed experiments"


def test_the_effort_is_their_number(machine):
    machine.rate = 100
    assert estimate_effort(machine, 2, "listed", 300) == estimate_effort(machine, 2, "mixes", 300)


def measure(*options):
    out, err = io.StringIO(), io.StringIO()
    call_command("measure", "--machine", "sim", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_shell_measures_what_it_is_given(site):
    make_simulated()
    out, err = measure("--experiment", FLOOD, "--experiment", TESTED, "--repeats", "2", "--json")
    assert json.loads(out.splitlines()[-1])["experiments"] == 4
    assert "about 4 experiments" in err
    assert Run.objects.get().name == "sim · 2 experiments"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--plan", "listed"], "needs --experiment TEXT"),
        (["--experiment", "zzz"], "toy has no scheme 'zzz'"),
        (
            ["--schemes", "all", "--plan", "singletons", "--repeats", "2"],
            "repeats go with the plan",
        ),
    ],
)
def test_wrong_options_are_refused(options, complaint):
    make_simulated()
    with pytest.raises(CommandError, match=complaint):
        measure(*options)
    assert not Run.objects.exists()
