"""`add-machine`, `machines` and `revoke-machine` as scripts use them."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from django.core.management import CommandError

from inference.agent.protocol import Beat
from inference.isa.targets import X86, target_of
from inference.models import ISA, Machine
from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa, store_isa
from tests.doors import printed


@pytest.fixture
def isa(db: None) -> ISA:
    """An x86-64 that is taken for up to date; which schemes it has does not matter here."""
    return store_isa(X86, [], target_of(X86).schemes.source())


def manage(*arguments: str) -> str:
    return printed(*arguments)


def test_add_machine_prints_the_line_that_starts_its_agent(isa: ISA) -> None:
    line = manage("add-machine", "lab", "--server", "http://pmweb.example:8000/")
    store, _, start = line.partition(" && ")
    secret = re.fullmatch(r"\(umask 077; echo (\S+) > pmweb-agent.token\)", store)
    command = ["python3", "pmweb-agent.pyz", "--server", "http://pmweb.example:8000"]
    assert shlex.split(start) == [*command, "--token-file", "pmweb-agent.token"]
    assert secret is not None
    assert sessions.machine_of(secret[1]) == Machine.objects.get(name="lab")


def test_a_token_more_is_asked_for_on_purpose(isa: ISA) -> None:
    first = json.loads(manage("add-machine", "lab", "--json"))
    with pytest.raises(CommandError, match="lab"):
        manage("add-machine", "lab")
    second = json.loads(manage("add-machine", "lab", "--new-token", "--json"))
    assert first["token"] != second["token"]
    assert sessions.machine_of(first["token"]) == sessions.machine_of(second["token"])
    with pytest.raises(CommandError, match="desk"):
        manage("add-machine", "desk", "--new-token")


def test_a_simulated_machine_has_no_agent(isa: ISA) -> None:
    Machine.objects.create(name="toy", kind="simulated", isa=isa)
    with pytest.raises(CommandError, match="no agent measures there"):
        manage("add-machine", "toy", "--new-token")


def test_machines_tells_how_each_is_doing(isa: ISA) -> None:
    assert "add-machine" in manage("machines")
    machine = sessions.add_machine("lab", isa)
    assert manage("machines") == "lab: never connected\n"
    session = sessions.open_session(machine, "one", {"cpu": "Test CPU 9000"})
    sessions.record_beat(session, Beat("contended", noise=0.1, note="additions are slow"))
    assert manage("machines") == "lab: disturbed, additions are slow, Test CPU 9000\n"
    told = json.loads(manage("machines", "--json"))
    assert (told["name"], told["online"], told["noise"]) == ("lab", True, 0.1)
    sessions.close_session(session)
    assert "offline" in manage("machines")
    assert "last seen 20" in manage("machines")


def test_machines_tells_what_an_instruction_set_does_not_allow(db: None) -> None:
    Machine.objects.create(name="board", kind="agent", isa=new_isa("a toy", [], "by hand"))
    unsupported = json.loads(manage("machines", "--json"))["unsupported"]
    assert {"front-end", "block", "latencies"} <= set(unsupported)
    assert manage("machines") == f"board: never connected, not supported: {', '.join(unsupported)}\n"


def test_revoke_machine_lets_nobody_in_any_more(isa: ISA) -> None:
    token = json.loads(manage("add-machine", "lab", "--json"))["token"]
    manage("add-machine", "lab", "--new-token")
    assert manage("revoke-machine", "lab") == "2 token(s) of 'lab' revoked\n"
    assert sessions.machine_of(token) is None
    with pytest.raises(CommandError, match="lab"):
        manage("revoke-machine", "lap")
