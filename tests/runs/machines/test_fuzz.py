"""A little of `benchmarks fuzz`, always the same: nonsense for a real web server."""

from __future__ import annotations

from benchmarks._fuzz_server import Server
from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa
from tests.runs.machines.fixtures import claim


def test_a_server_survives_an_agent_that_talks_nonsense(home, machine, web):
    run, _ = claim(home)
    run.refresh_from_db()
    other = sessions.add_machine("another", new_isa("second toy", ["add R, R"], "by hand"))
    survey = Server(web.socket_address, sessions.create_token(machine), machine, other, run).fuzz(40, 3)
    assert not survey.failures
    assert web.process.poll() is None
    assert "Traceback" not in (home.home / "web-log").read_text()
    assert survey.outcomes["the server goes on and stores"] > 0
