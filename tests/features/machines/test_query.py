"""Machines as pages show them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from inference.features.machines.machines import query as read
from inference.models import ISA, AgentToken, Batch, ExperimentSet, Machine, MachineReading, Run
from inference.storage.instruction_sets import core_of
from inference.web.deleting import dependents_of
from tests.rows import instructions

isa = instructions.isa

ZEN3 = {"vendor": "AuthenticAMD", "family": 25, "model": 1, "cores": 2, "counters": "none"}


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return Machine.objects.create(name="lab", kind="agent", isa=isa, facts=ZEN3, session=1)


def seen(machine: Machine, state: str = "idle", note: str = "", *, ago: float = 1) -> Machine:
    machine.state, machine.state_note = state, note
    machine.last_seen = timezone.now() - timedelta(seconds=ago)
    machine.save()
    return read.machines().get(pk=machine.pk)


@pytest.mark.parametrize(
    ("state", "key", "word"),
    [
        ("idle", "idle", "idle"),
        ("", "idle", "idle"),
        ("measuring", "measuring", "measuring"),
        ("contended", "contended", "disturbed"),
    ],
)
def test_a_connected_machine_does_what_its_agent_says(machine: Machine, state: str, key: str, word: str):
    found = read.condition_of(seen(machine, state, "by a neighbour"))
    assert (found.key, found.word, found.note) == (key, word, "by a neighbour")
    assert found.online
    assert found.since is None


def test_a_machine_that_is_not_heard_of_is_offline_since_its_last_word(machine: Machine):
    row = seen(machine, "measuring", ago=60)
    found = read.condition_of(row)
    assert (found.key, found.word, found.online) == ("offline", "offline", False)
    assert found.since == row.last_seen


def test_a_machine_that_said_goodbye_is_offline_since_its_last_reading(machine: Machine):
    at = timezone.now() - timedelta(hours=2)
    MachineReading.objects.create(machine=machine, at=at - timedelta(hours=1), state="idle")
    MachineReading.objects.create(machine=machine, at=at, state="idle")
    assert read.condition_of(read.machines().get(pk=machine.pk)).since == at


def test_a_machine_that_never_came_says_so(isa: ISA):
    Machine.objects.create(name="new", kind="agent", isa=isa)
    found = read.condition_of(read.machines().get(name="new"))
    assert (found.word, found.since, found.online) == ("never connected", None, False)


def test_a_machine_that_cannot_measure_says_why_even_when_its_agent_has_ended(machine: Machine):
    machine.facts = {"unfit": "measuring needs Linux; this is Darwin"}
    for ago in (1, 60):
        found = read.condition_of(seen(machine, "unfit", ago=ago))
        assert (found.key, found.able) == ("unfit", False)
        assert found.note == "measuring needs Linux; this is Darwin"
        assert found.online == (ago == 1)


def test_machines_without_an_agent_are_neither_online_nor_offline(isa: ISA):
    simulated = Machine(name="s", kind="simulated", isa=isa)
    published = Machine(name="p", kind="published", isa=isa)
    assert read.condition_of(simulated).able
    assert not read.condition_of(published).able
    assert {read.condition_of(each).key for each in (simulated, published)} == {"ready"}


def test_this_computer_comes_first_and_published_measurements_last(isa: ISA):
    for name, kind, local in (
        ("a", "published", False),
        ("b", "simulated", False),
        ("c", "agent", False),
        ("d", "agent", True),
    ):
        Machine.objects.create(name=name, kind=kind, isa=isa, local=local)
    assert [row.name for row in read.machines()] == ["d", "c", "b", "a"]
    local = read.local_machine()
    assert local is not None
    assert local.name == "d"


def test_the_microarchitecture_follows_from_vendor_family_and_model(machine: Machine):
    found = core_of(machine)
    assert found is not None
    assert found.name == "Zen 3"
    machine.facts = {"vendor": "AuthenticAMD", "family": None, "model": 1}
    assert core_of(machine) is None
    machine.facts = {}
    assert core_of(machine) is None


def test_what_a_machine_counts_is_said_in_words(machine: Machine):
    assert read.counts_of(machine) == "time only"
    machine.facts = {}
    assert read.counts_of(machine) == ""


def test_readings_come_in_order_and_very_many_are_thinned(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    start = timezone.now() - timedelta(hours=1)
    MachineReading.objects.bulk_create(
        MachineReading(machine=machine, at=start + timedelta(seconds=k), state="idle", noise=k / 1000)
        for k in range(100)
    )
    found = read.readings_of(machine, start + timedelta(seconds=50))
    assert [each.noise for each in found] == [k / 1000 for k in range(50, 100)]
    monkeypatch.setattr(read, "MAX_READINGS", 10)
    assert len(read.readings_of(machine, start)) == 10


def test_the_noise_is_the_median_of_the_last_half_hour_else_what_was_told_last(machine: Machine):
    now = timezone.now()
    machine.noise = 0.5
    assert read.noise_of(machine) == 0.5
    for minutes, noise in ((60, 0.9), (20, 0.01), (10, 0.03), (5, 0.02), (1, None)):
        at = now - timedelta(minutes=minutes)
        MachineReading.objects.create(machine=machine, at=at, state="idle", noise=noise)
    assert read.noise_of(machine) == 0.02


def run(name: str, kind: str, config: object, state: str = "done") -> Run:
    return Run.objects.create(name=name, kind=kind, config=config, state=state, lease_until=timezone.now())


def test_runs_of_a_machine_are_those_that_infer_from_it_or_measure_on_it(machine: Machine):
    run("inferred", "infer", {"source": {"machine": machine.pk}})
    run("measured", "measure", {"machine": machine.pk})
    run("other", "infer", {"source": {"machine": machine.pk + 1}})
    run("recorded", "infer", {"source": {"datasets": [machine.pk]}})
    assert [row.name for row in read.runs_on(machine)] == ["measured", "inferred"]
    assert read.unfinished_inference_on(machine, "pmevo") is None
    asked = {"algorithm": "pmevo", "source": {"machine": machine.pk}}
    waiting = run("waiting", "infer", asked, "queued")
    run("measuring", "measure", {"machine": machine.pk}, "running")
    assert read.unfinished_inference_on(machine, "pmevo") == waiting
    assert read.unfinished_inference_on(machine, "cegar") is None


def test_what_waits_is_counted_by_run_in_one_query(
    machine: Machine, django_assert_num_queries: DjangoAssertNumQueries
):
    first, second = run("first", "infer", {}), run("second", "infer", {})
    for owner, state, size in (
        (second, "waiting", 7),
        (first, "leased", 96),
        (first, "waiting", 96),
        (first, "done", 96),
    ):
        Batch.objects.create(
            machine=machine, run=owner, run_token=1, state=state, content={}, results=[], size=size
        )
    with django_assert_num_queries(1):
        found = read.queues_at(machine)
    assert [(q.run_name, q.batches, q.experiments, q.measuring) for q in found] == [
        ("first", 2, 192, True),
        ("second", 1, 7, False),
    ]


def test_this_computer_can_be_measured_when_its_agent_is_there(machine: Machine):
    assert read.obstacle(seen(machine)) == ""
    assert read.obstacle(seen(machine, "contended")) == ""


def test_why_this_computer_cannot_be_measured_comes_with_what_would_help(machine: Machine):
    assert "--no-agent" in read.obstacle(None)
    assert "not connected" in read.obstacle(seen(machine, ago=60))
    machine.facts = {"system": "Darwin", "machine": "arm64"}
    told = read.obstacle(seen(machine, "unfit", "measuring needs Linux; this is Darwin."))
    assert "this is Darwin. Add a Linux computer" in told


def told(row: Machine) -> list[tuple[str, bool]]:
    return [(dependent.label, dependent.blocks) for dependent in dependents_of(row)]


def test_a_machine_that_was_measured_stays_until_its_measurements_go(machine: Machine, isa: ISA):
    AgentToken.objects.create(machine=machine, digest="0" * 64)
    MachineReading.objects.create(machine=machine, at=timezone.now(), state="idle")
    assert told(machine) == [("1 token", False), ("1 reading of its noise", False)]
    ExperimentSet.objects.create(name="its own", isa=isa, origin="run", machine=machine)
    run("ended", "measure", {"machine": machine.pk})
    run("waits", "infer", {"source": {"machine": machine.pk}}, "queued")
    assert told(machine)[:3] == [("1 experiment set", True), ("1 unfinished run", True), ("1 run", False)]


def test_a_machine_whose_agent_is_connected_cannot_go(machine: Machine):
    assert told(seen(machine)) == [("Its agent is connected", True)]
