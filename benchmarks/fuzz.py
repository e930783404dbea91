"""Batches and messages that make no sense, against real measuring processes, agents and a web server.

Machine code is hostile (random bytes, system calls, jumps, stray writes) and measured by the agent's own
harness; messages are truncated, garbled, of wrong types, versions and sizes. What counts is how many of them
are survived: nothing crashes, hangs or accepts what it must not, and what makes sense is still measured, or
stored, right afterwards. The reference is all of them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from django.utils import timezone

from benchmarks import MissingDataError, Result
from benchmarks._fuzz_agent import fuzz_agent
from benchmarks._fuzz_code import HASTY, fuzz_code
from benchmarks._fuzz_server import Server
from benchmarks._sites import temporary_database
from benchmarks._survey import Survey
from inference.agent import fork_server
from inference.agent.facts import choose_core, facts
from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer
from inference.agent.protocol import Frame
from inference.models import Run
from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa
from tests.launched import descendants, wait_for_death

CODE, AGENT, SERVER = 3000, 3500, 3500
QUICK = 30
"""Times fewer of each, to see whether it works."""

SEED = 8


def run(quick: bool) -> Iterator[Result]:
    """Code, then the agent's side of the protocol, then the server's."""
    logging.getLogger("pmweb-agent").setLevel(logging.CRITICAL)  # it warns of each, as it shall
    less = QUICK if quick else 1
    yield _code(CODE // less).result("survived")
    yield asyncio.run(fuzz_agent(AGENT // less, SEED)).result("survived")
    yield _server(SERVER // less).result("survived")


def _code(n: int) -> Survey:
    """Have hostile code measured in a folder that has to stay empty, by processes that have to end."""
    computer = facts(choose_core())
    if computer["unfit"] or computer["machine"] != "x86_64":
        raise MissingDataError(computer["unfit"] or "the hostile code is for x86-64")
    frame = Frame(avx="avx" in computer["flags"])
    with tempfile.TemporaryDirectory(prefix="pmweb-fuzz-") as directory, chdir(directory):
        connection = fork_server.start(computer["core"])
        survey = asyncio.run(_measured(ForkServer(connection), frame, n))
        files = [path.name for path in Path(directory).iterdir()]
        survey.expect(not files, f"files were written: {files}")
    wait_for_death(descendants(os.getpid()))
    return survey


async def _measured(processes: ForkServer, frame: Frame, n: int) -> Survey:
    """Fuzz measuring processes, if the kernel confines them; they are ended in any case."""
    harness = LocalHarness(processes, {}, avx=frame.avx)
    try:
        await harness.preflight(frame, HASTY)
        if not harness.confinement["system_calls"]:
            raise MissingDataError("this kernel does not filter system calls: nothing would stop them")
        return await fuzz_code(harness, frame, n, SEED)
    finally:
        await harness.close()


def _server(n: int) -> Survey:
    """Fuzz a web server with a machine of its own; it has to live on, without a traceback in its log."""
    from tests.runs.machines.fixtures import Web

    with temporary_database() as home:
        isa = new_isa("toy", ["a", "b", "c"], "by hand")
        machine, other = sessions.add_machine("fuzzed", isa), sessions.add_machine("another", isa)
        run = Run.objects.create(
            kind="measure",
            name="fuzz",
            state=Run.State.RUNNING,
            lease_token=1,
            lease_until=timezone.now() + timedelta(days=1),
            config={},
        )
        web = Web(cast("Any", SimpleNamespace(home=home)))
        try:
            survey = Server(web.socket_address, sessions.create_token(machine), machine, other, run).fuzz(
                n, SEED
            )
            survey.expect(web.process.poll() is None, "the web server has ended")
            before, error, after = (home / "web-log").read_text().partition("Traceback")
            survey.expect(not error, before[-500:] + error + after[:3000])
        finally:
            web.stop()
    return survey
