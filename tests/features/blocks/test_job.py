"""Runs over basic blocks on machines."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.mapping import PortMapping
from inference.measuring.simulated_agent import SimulatedHarness, simulated_facts
from inference.models import Machine
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.runs.machines import measurer
from inference.storage.instruction_sets import new_isa
from tests.runs.agents import Boards, attempt, do, impatient
from tests.runs.fixtures import payloads
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db

ADD, LOAD = "add GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, MEM[64]:R"
TRUTH = PortMapping(("0", "1", "2"), {ADD: ((0b011, 1),), LOAD: ((0b100, 1),)})
ADDITION, LOADING, UNKNOWN = "4801d8", "488b07", "90"


@pytest.fixture
def machine() -> Machine:
    isa = new_isa("x86-64", [ADD, LOAD], "a test")
    return Machine.objects.create(name="box", kind="agent", isa=isa, facts=simulated_facts("toy", TRUTH))


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch) -> Boards:
    found = Boards(SimulatedHarness(TRUTH))
    monkeypatch.setattr(measurer, "DatabaseBoard", found)
    return found


def test_every_block_has_its_result_told_and_kept(machine: Machine, boards: Boards):
    run = do("block", {"machine": machine.pk, "blocks": [ADDITION, LOADING + ADDITION, "48 01 d8"]})
    assert run.state == "done", run.error
    assert [answer["cycles"] for answer in run.result["blocks"]] == [0.5, 1.0, 0.5]
    assert [answer["hex"] for answer in run.result["blocks"]] == [ADDITION, LOADING + ADDITION, ADDITION]
    assert {payload["index"] for payload in payloads(run, "block")} == {0, 1, 2}
    assert payloads(run, "progress")[-1]["done"] == 3
    assert run.config["options"]["mode"] == "unrolled"
    assert run.result["identity"]["block"] == run.config["options"]
    assert boards.posted == 2
    assert all(board.closed for board in boards.opened)


def test_a_block_that_cannot_be_measured_is_a_result_among_others(machine: Machine, boards: Boards):
    run = do("block", {"machine": machine.pk, "blocks": [ADDITION, "c3"]})
    assert run.state == "done", run.error
    assert [answer["state"] for answer in run.result["blocks"]] == ["settled", "failed"]
    assert "instruction 1, ret, changes the control flow" in run.result["blocks"][1]["note"]
    assert boards.posted == 1


def test_a_run_that_was_stopped_goes_on(machine: Machine, boards: Boards):
    run = lifecycle.submit("block", {"machine": machine.pk, "blocks": [ADDITION, LOADING]}, "a run")
    attempt(run, impatient(0))
    assert run.state == "queued"
    attempt(run)
    assert run.state == "done", run.error
    assert run.result["settled"] == 2


def test_an_agent_from_before_basic_blocks_is_not_asked(machine: Machine, boards: Boards):
    Machine.objects.filter(pk=machine.pk).update(facts={"flags": ["avx"], "version": "0.5.0"})
    run = do("block", {"machine": machine.pk, "blocks": [ADDITION]})
    assert run.state == "failed"
    assert "too old for basic blocks" in run.error
    assert not boards.posted


def test_a_simulated_processor_says_what_its_ports_allow(machine: Machine):
    sim = simulated_machine(machine.isa, TRUTH)
    run = do("block", {"machine": sim.pk, "blocks": [ADDITION, UNKNOWN]})
    assert run.state == "done", run.error
    assert [answer["state"] for answer in run.result["blocks"]] == ["settled", "failed"]
    assert "does not know: nop" in run.result["blocks"][1]["note"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"blocks": []}, "a list of 1 to 500"),
        ({"blocks": "4801d8"}, "must be a list"),
        ({"blocks": ["4801"]}, "block 1: the bytes"),
        ({"blocks": ["c3", "f4"]}, "block 1 cannot be measured: instruction 1, ret, changes"),
        ({"blocks": ["90"], "options": {"mode": "odd"}}, "mode must be one of"),
        ({"blocks": ["90"], "options": {"way": 1}}, "has no setting 'way'; the nearest is"),
        ({"blocks": ["90"], "options": 3}, "options: settings must be an object"),
        ({"blocks": ["90" * 400], "options": {"copies": 100}}, "24,576 is the limit"),
        ({"blocks": ["90"], "seed": 1}, "no field 'seed'"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(machine: Machine, config, said: str):
    with pytest.raises(ConfigError, match=said):
        lifecycle.submit("block", {"machine": machine.pk, **config}, "none")


def test_the_shell_refuses_what_is_no_block(machine: Machine, tmp_path):
    file = tmp_path / "code.s"
    file.write_text("add rax, rbx\nfoo\n")
    with pytest.raises(CommandError, match="line 2, column 1: x86-64 has no instruction 'foo'"):
        call_command("measure-block", str(file), "--machine", "box")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("measure-block", str(tmp_path / "none"), "--machine", "box")
