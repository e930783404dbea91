"""`simulate-agent --core`: where a core's truth comes from, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.core_model.model import CoreModel
from inference.core.mapping import PortMapping
from inference.formats.core_model_json import read_core_model
from inference.measuring.simulated_agent import executing_facts
from inference.measuring.simulated_core.core import ExecutingHarness, SimulatedCore
from inference.measuring.simulated_core.sampled import sampled_core
from inference.models import ISA, Machine
from inference.runs.machines import measurer
from inference.runs.machines.facts import unsupported_runs
from inference.storage.instruction_sets import new_isa
from tests.runs.agents import Boards, do

pytestmark = pytest.mark.django_db


def simulate(*arguments: str) -> None:
    call_command("simulate-agent", *arguments)


def test_a_sampled_truth_is_written_and_is_a_core_again(tmp_path: Path) -> None:
    first, second = tmp_path / "truth.json", tmp_path / "again.json"
    simulate("--core", "5", "--write-truth", str(first))
    simulate("--core", str(first), "--write-truth", str(second))
    read, again = (read_core_model(path.read_bytes()) for path in (first, second))
    assert read.model() == again.model() == sampled_core("x86-64", 5).model


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--core", "5"], "--server"),
        (["--core", "5", "--server", "http://localhost:1"], "token"),
        (["--mapping", "x", "--write-truth", "y"], "--core"),
        (["--core", "no such core"], "no file and no core model"),
    ],
)
def test_what_cannot_be_simulated_is_refused_with_the_remedy(arguments: list[str], error: str) -> None:
    with pytest.raises(CommandError, match=error):
        simulate(*arguments)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("{}", "cannot be read"),
        (json.dumps({"format": "pmweb-core-model", "version": 1, "isa": "x86-64"}), "needs the ports"),
    ],
)
def test_a_file_that_is_no_truth_is_refused(tmp_path: Path, content: str, error: str) -> None:
    path = tmp_path / "core.json"
    path.write_text(content)
    with pytest.raises(CommandError, match=error):
        simulate("--core", str(path), "--write-truth", str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("kind", "facts", "executes"),
    [
        ("agent", {}, True),
        ("agent", {"simulated": True}, False),
        ("agent", {"simulated": True, "executes": True}, True),
        ("simulated", {}, False),
    ],
)
def test_machines_execute_code_unless_they_answer_by_a_mapping(
    kind: str, facts: dict[str, bool], executes: bool
) -> None:
    assert Machine(kind=kind, facts=facts).executes_code is executes


@pytest.mark.parametrize(
    ("isa", "facts", "is_able"),
    [
        ("x86-64", {"blocks": True}, True),
        ("AArch64", {"blocks": True}, True),
        ("RISC-V", {"blocks": True}, True),
        ("AArch64", {"simulated": True, "executes": True}, True),
        ("a toy", {"blocks": True}, False),
    ],
)
def test_boards_time_blocks_of_sets_that_have_them(isa: str, facts: dict[str, bool], is_able: bool) -> None:
    machine = Machine(name="board", kind="agent", isa=ISA(name=isa), facts=facts)
    reasons = unsupported_runs(machine)
    assert ("front-end" not in reasons) is is_able
    assert is_able or reasons["front-end"]
    assert ("know" not in reasons) is is_able


def test_runs_on_a_simulated_core_are_measured_by_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    add, load = "add GPR[64]:RW, GPR[64]:R", "mov GPR[64]:W, MEM[64]:R"
    mapping = PortMapping(("0", "1", "2"), {add: ((0b011, 1),), load: ((0b100, 1),)}, issue_width=4)
    core = SimulatedCore("x86-64", CoreModel(mapping))
    boards = Boards(ExecutingHarness(core))
    monkeypatch.setattr(measurer, "DatabaseBoard", boards)
    isa = new_isa("x86-64", [add, load], "a test")
    facts = executing_facts("small", "x86-64", mapping)
    machine = Machine.objects.create(name="sim", kind="agent", isa=isa, facts=facts)
    run = do("block", {"machine": machine.pk, "blocks": ["4801d8", "4801d84801d9", "488b00"]})
    assert run.state == "done", run.error
    # A chain, two chains on two ports, and a load of its own address: ports alone would allow 0.5, 1 and 1.
    assert [answer["cycles"] for answer in run.result["blocks"]] == pytest.approx([1.0, 1.0, 5.0], rel=0.01)
