"""Blocks measured with values of one's own, and with others that their time may depend on."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from inference.core.mapping import PortMapping as Mapping
from inference.isa import x86
from inference.isa.targets import X86
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.instruction_sets import store_isa
from tests.doors import printed
from tests.runs.agents import do
from tests.simulated import simulated_machine

SHIFT = "shl GPR[64]:RW, cl:R"
CODE = "48d3e0"


def make_simulated():
    isa = store_isa(X86, [scheme for scheme in x86.schemes() if scheme.text == SHIFT], "one")
    return simulated_machine(isa, Mapping(("0",), {SHIFT: ((1, 1),)}), "lab", zero_count_cycles=40.0)


@pytest.fixture
def machine(db):
    return make_simulated()


def answer(tmp_path, *options):
    file = tmp_path / "code.s"
    file.write_text("shl rax, cl")
    return printed("measure-block", str(file), "--machine", "lab", *options)


def test_the_shell_takes_values_and_says_them(site, tmp_path):
    make_simulated()
    (usual,) = json.loads(answer(tmp_path, "--json"))["blocks"]
    assert (usual["cycles"], usual["operands"]) == (41.0, {"rax": "0x62345600", "cl": "0"})
    (other,) = json.loads(answer(tmp_path, "--values", "rcx=3,vector=0xff", "--json"))["blocks"]
    assert (other["cycles"], other["operands"]) == (1.0, {"rax": "0x62345600", "cl": "3"})
    lines = answer(tmp_path, "--repeat-values").splitlines()
    assert "rax = 0x62345600, cl = 0" in lines[0]
    assert lines[2].split() == ["1.000", "settled", "with", "rax", "=", "1,", "cl", "=", "1"]


def test_a_block_is_measured_with_other_values_too(machine, client, administrator):
    config = {"machine": machine.pk, "blocks": [CODE], "values": {"rcx": 3}, "repeat_values": True}
    run = do("block", config)
    assert run.state == "done", run.error
    (block,) = run.result["blocks"]
    assert (block["cycles"], block["operands"]["cl"]) == (1.0, "3")
    repeated = [(other["values"], other["operands"]["cl"], other["cycles"]) for other in block["repeated"]]
    assert repeated == [("0", "0", 41.0), ("1", "1", 1.0), ("small", "5", 1.0), ("all ones", "255", 1.0)]
    client.force_login(administrator)
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "cl = 3" in page
    assert "rax = 0, cl = 0" in page
    assert "41.000" in page


@pytest.mark.parametrize(
    ("values", "words"),
    [({"cl": 1}, "'cl' is unknown"), ({"masks": 2}, "0 to 1"), ({"rax": 2**64}, "0 to 18,446")],
)
def test_values_that_make_no_sense_are_refused(machine, values, words):
    with pytest.raises(ConfigError, match=words):
        lifecycle.submit("block", {"machine": machine.pk, "blocks": [CODE], "values": values}, "a run")


def test_the_shell_says_how_values_are_written(machine):
    with pytest.raises(CommandError, match="NAME=VALUE"):
        call_command("measure-block", "-", "--machine", "lab", "--values", "rcx")
