"""The agent's command line."""

from __future__ import annotations

import argparse
import os
import platform
import pwd
from typing import Any

import pytest

from inference.agent import __main__ as command
from inference.agent import fork_server
from inference.agent.passes import UnfitHarness

OPTIONS = argparse.Namespace(
    server="http://localhost:1",
    token_file="-",
    without_sandbox=False,
    ca=None,
    core=None,
    user=None,
    allow_root=True,
    die_with_parent=False,
    emulated=False,
)


@pytest.mark.parametrize(
    ("system", "machine", "reason"),
    [
        ("Darwin", "arm64", "measuring needs Linux"),
        ("Linux", "ppc64", "needs a processor of x86-64, AArch64 or RISC-V"),
    ],
)
def test_where_nothing_can_be_measured_the_agent_says_why_and_starts_no_process(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, reason: str
):
    told: dict[str, Any] = {}

    async def pretend(_server: str, _token: str, harness: Any, facts: Any, _version: str, _tls: Any) -> None:
        told.update(harness=harness, facts=facts())

    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(fork_server, "start", lambda *_: pytest.fail("macOS has no sockets of this kind"))
    monkeypatch.setattr(command, "run_agent", pretend)
    monkeypatch.setattr(command.token, "read", lambda _: "a token")
    monkeypatch.setattr(command.kernel, "deny_inspection", lambda: None)
    assert command._run(OPTIONS) == 0
    assert reason in told["facts"]["unfit"]
    assert isinstance(told["harness"], UnfitHarness)
    assert told["harness"].beat().state == "unfit"


def test_becoming_root_is_no_way_around_the_refusal_of_root(monkeypatch: pytest.MonkeyPatch):
    root = pwd.getpwuid(0).pw_name
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for user in (None, root):
        refused = argparse.Namespace(**{**vars(OPTIONS), "user": user, "allow_root": False})
        with pytest.raises(command.UsageError, match="not as root"):
            command._run(refused)
