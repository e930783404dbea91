"""Inference runs on a machine with an agent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.measuring.simulated_agent import SimulatedHarness
from inference.models import Evaluation, ExperimentSet, Measurement, PortMapping
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.runs.fork_server import StopRequests
from inference.runs.machines.facts import estimated_seconds
from inference.runs.machines.measurer import sample_evenly
from inference.storage.mappings import load_mapping
from tests.runs.agents import TRUTH, attempt, do, impatient, make_machine, put_agent
from tests.runs.fixtures import numbers, payloads

pytestmark = pytest.mark.django_db

KNOWN = sorted(TRUTH.usage)
QUICK = {"search": "evolution", "population": 40, "max_generations": 4, "threads": 1}


class Spoiling(SimulatedHarness):
    """Gives some experiments another state, chosen by a function of their terms."""

    def __init__(self, state_of):
        super().__init__(replace(TRUTH, usage={**TRUTH.usage, "crash": ((1, 1),), "wobble": ((1, 1),)}))
        self.state_of = state_of

    async def _answers(self, batch):
        results = await super()._answers(batch)
        return [self.spoiled(item, result) for item, result in zip(batch.items, results, strict=True)]

    def spoiled(self, item, result):
        state = self.state_of(dict(item.terms))
        if state == "failed":
            return replace(result, state=state, cycles=None, note="illegal instruction")
        return replace(result, state=state)


def infer(machine, **config):
    return do(
        "infer",
        {"source": {"machine": machine.pk}, "schemes": "all", "settings": QUICK, "mixes": 60} | config,
    )


def texts(run):
    return [payload["text"] for payload in payloads(run, "log")]


@pytest.fixture
def machine():
    return make_machine()


def test_singletons_bottleneck_and_mixes_come_before_the_search(machine, monkeypatch):
    boards = put_agent(monkeypatch, noise=0.002)
    machine.isa.schemes.filter(text__in=["crash", "wobble"]).delete()
    run = infer(machine)
    assert run.state == "done", run.error
    phases = payloads(run, "phase")
    assert [p["index"] for p in phases] == [1, 2, 3, 4, 5, 6, 7]
    names = ["singletons", "bottleneck", "mixes", "measuring", "congruence", "evolution", "climb"]
    assert [p["name"] for p in phases] == names
    assert all(p["labels"] == phases[0]["labels"] and len(p["labels"]) == 7 for p in phases)
    progress = payloads(run, "progress")
    assert {"singletons", "bottleneck", "mixes"} <= {p["phase"] for p in progress}
    last = [p for p in progress if p["phase"] == "mixes"][-1]
    assert (last["done"], last["total"], last["eta"]) == (60, 60, 0)
    assert last["rate"] > 0
    made = PortMapping.objects.get(run=run)
    assert (made.machine, made.r_max) == (machine, 4)
    assert made.report["bottleneck"]["r_max"] == 4
    assert made.report["bottleneck"]["experiment"]
    assert any("bottleneck: 4 instructions per cycle" in text for text in texts(run))
    assert set(load_mapping(made).usage) == set(KNOWN)
    assert run.result["held_out"]["n"] == 60
    assert run.result["held_out"]["settled_share"] == 1
    assert {row.machine for row in ExperimentSet.objects.all()} == {machine}
    assert all(board.closed for board in boards.opened)
    assert boards.posted == Measurement.objects.count()


def test_a_sample_is_of_schemes_that_can_be_measured_spread_over_the_selection(machine, monkeypatch):
    states = {"crash": "failed", "wobble": "unsettled"}
    put_agent(monkeypatch, Spoiling(lambda terms: states.get(next(iter(terms)), "settled")))
    run = infer(machine, sample=5)
    assert run.state == "done", run.error
    found = sorted(load_mapping(PortMapping.objects.get(run=run)).usage)
    assert len(found) == 5
    assert set(found) < set(KNOWN)
    assert found == sample_evenly(KNOWN, 5)
    with pytest.raises(ConfigError, match="sample must be a whole number"):
        lifecycle.submit("infer", {"source": {"machine": machine.pk}, "sample": 0}, "none")


def test_equal_distances_lie_between_the_schemes_of_a_sample():
    assert sample_evenly("abcdefghij", 5) == ["a", "c", "e", "g", "i"]
    assert (
        sample_evenly(["a", "b"], 2)
        == sample_evenly(["a", "b"], None)
        == sample_evenly(["a", "b"], 7)
        == ["a", "b"]
    )


def test_the_identity_of_the_measurements_tells_what_changes_answers(machine, monkeypatch):
    put_agent(monkeypatch)
    run = infer(machine)
    identity = ExperimentSet.objects.filter(run=run).first().identity
    assert (identity["kind"], identity["machine"]) == ("machine", machine.pk)
    assert identity["settings"]["tolerance"] > 0
    assert identity["frame"]["isa"] == "x86-64"


def test_schemes_that_fail_or_do_not_settle_alone_are_left_out_by_name(machine, monkeypatch):
    states = {"crash": "failed", "wobble": "unsettled"}
    put_agent(monkeypatch, Spoiling(lambda terms: states.get(next(iter(terms)), "settled")))
    run = infer(machine)
    assert run.state == "done", run.error
    assert set(load_mapping(PortMapping.objects.get(run=run)).usage) == set(KNOWN)
    assert "1 scheme is left out, illegal instruction: crash" in texts(run)
    assert any("did not agree: wobble" in text for text in texts(run))


def test_a_computer_that_is_too_disturbed_fails_the_run_with_advice(machine, monkeypatch):
    put_agent(monkeypatch, Spoiling(lambda terms: "settled" if "alu" in terms else "unsettled"))
    run = infer(machine)
    assert run.state == "failed"
    assert "only 1 of 10 single instructions" in run.error
    assert "Stop that work" in run.error
    assert not PortMapping.objects.exists()


def test_mixes_that_do_not_settle_judge_nothing(machine, monkeypatch):
    def state_of(terms):
        return "unsettled" if sum(terms.values()) == 5 and "mul" in terms else "settled"

    put_agent(monkeypatch, Spoiling(state_of))
    run = infer(machine)
    assert run.state == "done", run.error
    share = run.result["held_out"]["settled_share"]
    assert 0.2 < share < 0.9
    assert run.result["held_out"]["n"] == round(60 * share) == Evaluation.objects.get().n
    assert any(f"({100 * share:.0f} % settled)" in text for text in texts(run))


def test_no_bottleneck_is_claimed_where_the_ports_explain_everything(machine, monkeypatch):
    put_agent(monkeypatch, SimulatedHarness(replace(TRUTH, r_max=None)))
    machine.isa.schemes.filter(text__in=["crash", "wobble"]).delete()
    run = infer(machine)
    made = PortMapping.objects.get(run=run)
    assert made.r_max is None
    assert made.report["bottleneck"]["r_max"] is None
    assert any("no bottleneck besides the ports: 8.00" in text for text in texts(run))


@pytest.mark.parametrize(
    ("change", "r_max"),
    [({"bottleneck": False}, 4.0), ({"settings": {**QUICK, "r_max": 5.0}}, 5.0)],
    ids=["read in the search's own mixes", "given"],
)
def test_the_bottleneck_is_not_measured_unless_it_is_wanted(machine, monkeypatch, change, r_max):
    put_agent(monkeypatch)
    run = infer(machine, **change)
    assert [p["name"] for p in payloads(run, "phase")][:3] == ["singletons", "mixes", "measuring"]
    made = PortMapping.objects.get(run=run)
    assert made.r_max == r_max
    assert "bottleneck" not in made.report


def test_a_set_to_judge_by_replaces_the_mixes(machine, monkeypatch):
    put_agent(monkeypatch)
    first = infer(machine)
    judge = ExperimentSet.objects.get(name="a run · five-scheme mixes")
    run = lifecycle.submit(
        "infer",
        {**first.config, "evaluate": judge.pk},
        "second",
    )
    attempt(run)
    assert "mixes" not in [p["name"] for p in payloads(run, "phase")]
    assert run.result["held_out"]["n"] == 60
    assert "settled_share" not in run.result["held_out"]


def test_interruptions_change_nothing_and_measure_nothing_twice(machine, monkeypatch):
    boards = put_agent(monkeypatch, noise=0.002)
    undisturbed = infer(machine)
    before = boards.posted
    run = lifecycle.submit("infer", undisturbed.config, "interrupted")
    for calls in (3, 20, 40, 80, 160, 320):
        attempt(run, impatient(calls))
    while run.state != "done":
        assert run.state == "queued", run.error
        attempt(run)
    first, second = (load_mapping(PortMapping.objects.get(run=r)) for r in (undisturbed, run))
    assert first.usage == second.usage
    assert undisturbed.result["held_out"] == run.result["held_out"]
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    sizes = [
        sorted(r.experiment_sets.values_list("measurements__experiment", flat=True))
        for r in (undisturbed, run)
    ]
    assert sizes[0] == sizes[1]
    stored = Measurement.objects.filter(experiment_set__run=run).count()
    assert boards.posted - before >= stored
    assert len(boards.opened) > 3, "the run was meant to be interrupted"


def test_a_search_that_is_taken_up_again_keeps_its_schemes_and_asks_nothing(machine, monkeypatch):
    spoiled = {"crash": "failed"}
    boards = put_agent(monkeypatch, Spoiling(lambda terms: spoiled.get(next(iter(terms)), "settled")))
    settings = {**QUICK, "population": 1000, "max_generations": 40, "convergence": 0}
    config = {"source": {"machine": machine.pk}, "schemes": "all", "settings": settings, "mixes": 60}
    run = lifecycle.submit("infer", config, "a run")
    # Each stage is in the journal, and wishes are heard, as soon as it begins: none is missed, however short.
    for name in ("core.pacing.PULSE_INTERVAL", "runs.reporter.FLUSH_INTERVAL", "runs.reporter._COST_SHARE"):
        monkeypatch.setattr(f"inference.{name}", 0)

    class UntilEvolution(StopRequests):
        def __call__(self):
            return "stop" if len(payloads(run, "phase")) == 6 else super().__call__()

    attempt(run, UntilEvolution)
    assert run.state == "queued"
    posted = boards.posted
    # A singleton that is lost would be asked again, and the schemes would no longer be the same.
    Measurement.objects.filter(experiment__length=1).delete()
    spoiled["alu"] = "failed"
    attempt(run)
    assert run.state == "done", run.error
    assert boards.posted == posted
    assert set(load_mapping(PortMapping.objects.get(run=run)).usage) == {*KNOWN, "wobble"}


def test_what_a_machine_says_while_it_is_waited_for_reaches_the_log(machine, monkeypatch):
    boards = put_agent(monkeypatch)
    boards.reason = "waiting for box: it is offline"
    run = infer(machine)
    assert {"level": "warning", "text": boards.reason} in payloads(run, "log")
    assert {"text": boards.reason} in payloads(run, "waiting")
    assert payloads(run, "waiting")[-1] == {"text": ""}


def test_by_default_the_starter_set_is_measured_and_no_table_says_how_many_ports_there_are():
    zen3 = {"cpu": "AMD EPYC", "vendor": "AuthenticAMD", "family": 25, "model": 1, "flags": ["avx"]}
    machine = make_machine(facts=zen3)
    run = lifecycle.submit("infer", {"source": {"machine": machine.pk}}, "a run")
    assert run.config["schemes"] == "starter"
    assert run.config["bottleneck"] is True
    assert run.config["ports"] is None
    asked = lifecycle.submit("infer", {"source": {"machine": machine.pk}, "ports": 3}, "another")
    assert asked.config["ports"] == 3


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"facts": {}}, "has never connected: start it there first"),
        (
            {"facts": {"cpu": "x", "unfit": "code pages are forbidden"}},
            "cannot measure: code pages are forbidden",
        ),
        ({"state": "unfit", "state_note": "too wild"}, "cannot measure: too wild"),
        ({"kind": "published"}, "choose one of its experiment sets"),
    ],
)
def test_a_machine_that_cannot_be_asked_is_refused_with_the_reason(fields, complaint):
    machine = make_machine(**fields)
    for kind, config in (
        ("infer", {"source": {"machine": machine.pk}}),
        ("measure", {"machine": machine.pk}),
    ):
        with pytest.raises(ConfigError, match=complaint):
            lifecycle.submit(kind, config, "a run")


def test_the_time_is_reckoned_with_the_machines_own_rate(machine):
    assert estimated_seconds(100, machine) == 2
    machine.rate = 200
    assert estimated_seconds(100, machine) == 0.5
    machine.kind = "simulated"
    assert estimated_seconds(100, machine) == 0
