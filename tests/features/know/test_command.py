"""`manage.py know`: all parts of a core under one name, and what failed beside what was kept."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.know.query import parts_of
from inference.features.learning.know.request import STAGES
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated_agent import simulated_facts
from inference.models import LatencySet, Machine, MeasuredFrontEnd, PortMapping, Run
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError
from inference.runs.fork_server import StopRequests, execute
from inference.storage.instruction_sets import new_isa, store_isa
from tests.simulated import simulated_machine

NOP = "nop"
USAGE = {
    "add GPR[64]:RW, GPR[64]:R": ((0b0011, 1),),
    "imul GPR[64]:RW, GPR[64]:R": ((0b0001, 1),),
    "vaddpd XMM:W, XMM:R, XMM:R": ((0b1100, 1),),
    "vmulpd XMM:W, XMM:R, XMM:R": ((0b0100, 1),),
}


@pytest.fixture
def machine(site) -> Machine:
    found = [scheme_and_form(text) for text in USAGE]
    isa = store_isa("x86-64", [one[0] for one in found if one is not None], "a test")
    return simulated_machine(isa, Mapping(("0", "1", "2", "3"), USAGE))


def known(machine: Machine, *options: str) -> dict:
    out = io.StringIO()
    arguments = ("--machine", machine.name, "--schemes", "all", "--name", "core", "--json", *options)
    call_command("know", *arguments, stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue().splitlines()[-1])


def test_the_last_line_is_the_json_that_scripts_rely_on(machine):
    answer = known(machine)
    keys = {"core_model", "mapping", "latencies", "front_end", "seconds", "stages", "selection"}
    assert set(answer) == keys
    assert LatencySet.objects.get().name == answer["latencies"] == "core · latencies"
    assert MeasuredFrontEnd.objects.get().name == answer["front_end"] == "core · front end"
    assert PortMapping.objects.filter(name=answer["mapping"]).exists()
    assert [stage["stage"] for stage in answer["stages"]] == [stage.name for stage in STAGES]
    assert STAGES[-1].name == "scheduler"
    whole = Run.objects.get(kind="know")
    assert {part.part_of_id for part in parts_of(whole).values()} == {whole.pk}
    assert len(parts_of(whole)) == len(STAGES)


def test_a_part_that_fails_does_not_keep_the_others_from_being_done(site):
    found = scheme_and_form(NOP)
    assert found is not None
    isa = store_isa("x86-64", [found[0]], "a test")
    answer = known(simulated_machine(isa, Mapping(("0",), {NOP: ((1, 1),)})))
    by_name = {stage["stage"]: stage for stage in answer["stages"]}
    assert by_name["latencies"]["state"] == "failed"
    assert "none of these schemes has a pair of operands" in by_name["latencies"]["error"]
    assert answer["latencies"] is None
    assert by_name["front_end"]["state"] == "done"
    assert answer["front_end"] == "core · front end"


def worked(whole: Run, requests: type[StopRequests] = StopRequests) -> list[dict]:
    """Do it in this process; what it says of its stages."""
    lease = leases.claim("a test", only=whole.pk)
    assert lease is not None
    execute(lease, requests(lease))
    whole.refresh_from_db()
    assert whole.state == Run.State.DONE, whole.error
    return whole.result["stages"]


def test_a_part_that_was_cancelled_is_not_begun_again_and_an_ended_one_is_kept(machine):
    """What a run that is taken over finds: its parts as they are."""
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")
    latencies = lifecycle.submit(
        "latencies", {"machine": machine.pk, "schemes": "all"}, "mine", part_of=whole
    )
    lifecycle.cancel(latencies)
    by_name = {stage["stage"]: stage for stage in worked(whole)}
    assert by_name["latencies"]["run"] == latencies.pk
    assert (by_name["latencies"]["state"], by_name["latencies"]["made"]) == ("cancelled", None)
    assert not LatencySet.objects.exists()
    assert len(parts_of(whole)) == len(STAGES)


def test_what_cannot_be_known_is_refused(machine):
    toy = new_isa("toy", ["a"], "a test")
    other = simulated_machine(toy, Mapping(("0",), {"a": ((1, 1),)}), name="toy")
    with pytest.raises(ConfigError):
        lifecycle.submit("know", {"machine": other.pk}, "of nothing")
    with pytest.raises(CommandError, match="no block set 'none'"):
        known(machine, "--blocks", "none")


def test_stopped_after_a_part_it_keeps_that_and_leaves_the_others_out(machine):
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")

    class Keeping(StopRequests):
        def __call__(self):
            ended = Run.objects.filter(part_of=whole, state=Run.State.DONE).count()
            return lifecycle.keep(whole).wanted if ended == 2 else super().__call__()

    assert [bool(stage["made"]) for stage in worked(whole, Keeping)] == [True, True, False, False, False]
    assert len(parts_of(whole)) == 2


def test_a_part_without_time_is_not_begun(machine, monkeypatch):
    stages = [replace(stage, ends_by=0.0 if stage.name == "explained" else 1.0) for stage in STAGES]
    monkeypatch.setattr("inference.features.learning.know.job.STAGES", stages)
    whole = lifecycle.submit("know", {"machine": machine.pk, "schemes": "all"}, "core")
    by_name = {stage["stage"]: stage for stage in worked(whole)}
    assert by_name["explained"]["run"] is None
    assert "took all the time" in by_name["explained"]["error"]
    assert [bool(stage["made"]) for stage in by_name.values()] == [True, True, True, False, True]


def test_a_part_that_waits_is_asked_to_end_when_its_time_is_over(machine, monkeypatch):
    ports = next(stage for stage in STAGES if stage.name == "ports")
    monkeypatch.setattr("inference.features.learning.know.job.STAGES", [replace(ports, ends_by=1e-6)])
    facts = simulated_facts("box", Mapping(("0", "1", "2", "3"), USAGE))
    offline = Machine.objects.create(name="box", kind="agent", isa=machine.isa, facts=facts)
    whole = lifecycle.submit("know", {"machine": offline.pk, "schemes": "all"}, "core")
    lease = leases.claim("a test", only=whole.pk)
    assert lease is not None
    execute(lease, StopRequests(lease))
    assert whole.parts.get().state == Run.State.CANCELLED, "its machine is not there"
    logged = whole.events.filter(kind="log").values_list("payload", flat=True)
    assert any("has reached its time limit" in entry["text"] for entry in logged)


def test_how_long_it_may_take_has_limits(machine):
    for minutes in (9, 10_001):
        with pytest.raises(CommandError, match="minutes"):
            known(machine, "--minutes", str(minutes))
