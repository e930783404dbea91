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
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from django.db import connections
from django.utils import timezone

from benchmarks import MissingDataError, Result
from benchmarks._fuzz_agent import fuzz_agent
from benchmarks._fuzz_code import HASTY, fuzz_code
from benchmarks._fuzz_server import Server
from benchmarks._survey import Survey
from benchmarks._temporary_database import temporary_database
from inference.agent import fork_server
from inference.agent.facts import choose_core, facts
from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer
from inference.agent.protocol import Frame
from inference.models import Run
from inference.runs.machines import tokens
from inference.storage.instruction_sets import new_isa

CODE, AGENT, SERVER = 3000, 3500, 3500
QUICK = 30
"""Times fewer of each, to see whether it works."""
SEED = 8


def run(quick: bool) -> Iterator[Result]:
    """Code, then the agent's side of the protocol, then the server's."""
    logging.getLogger("pmweb-agent").setLevel(logging.CRITICAL)  # it warns of each, as it shall
    less = QUICK if quick else 1
    drawn = random.Random(SEED)
    yield _told("code", CODE // less, lambda n: _code(n, drawn))
    yield _told("agent", AGENT // less, lambda n: asyncio.run(fuzz_agent(n, drawn)))
    yield _told("server", SERVER // less, lambda n: _server(n, drawn))


def _told(case: str, n: int, fuzz: Callable[[int], Survey]) -> Result:
    began = time.monotonic()
    survey = fuzz(n)
    more = {"seconds": round(time.monotonic() - began, 1), "seed": SEED, **survey.as_json()}
    return Result(case, survey.total - len(survey.failures), "survived", survey.total, more)


def _code(n: int, drawn: random.Random) -> Survey:
    computer = facts(choose_core())
    if computer["unfit"] or computer["machine"] != "x86_64":
        raise MissingDataError(computer["unfit"] or "the hostile code is for x86-64")
    frame = Frame(avx="avx" in computer["flags"])
    with tempfile.TemporaryDirectory(prefix="pmweb-fuzz-") as directory, chdir(directory):
        connection = fork_server.start(computer["core"])
        survey = asyncio.run(_measured(ForkServer(connection), frame, n, drawn))
        files = [path.name for path in Path(directory).iterdir()]
        survey.expect(not files, f"files were written: {files}")
    left = _children()
    survey.expect(not left, f"processes are left: {left}")
    return survey


async def _measured(processes: ForkServer, frame: Frame, n: int, drawn: random.Random) -> Survey:
    harness = LocalHarness(processes, {}, avx=frame.avx)
    try:
        await harness.preflight(frame, HASTY)
        if not harness.confinement["system_calls"]:
            raise MissingDataError(
                "this kernel does not filter system calls: nobody knows what they would do"
            )
        return await fuzz_code(harness, frame, n, drawn)
    finally:
        await harness.close()


def _children() -> list[int]:
    """Processes below this one that do not end by themselves within moments."""
    until = time.monotonic() + 10
    while (left := _living()) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _living() -> list[int]:
    from tests.launched import descendants

    return list(descendants(os.getpid()))


def _server(n: int, drawn: random.Random) -> Survey:
    from tests.runs.machines.fixtures import Web

    with temporary_database():
        home = Path(connections["default"].settings_dict["NAME"]).parent
        isa = new_isa("toy", ["a", "b", "c"], "by hand")
        machine, other = tokens.add_machine("fuzzed", isa), tokens.add_machine("another", isa)
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
            fuzzed = Server(web.socket_address, tokens.issue(machine), machine, other, run).fuzz(n, drawn)
            fuzzed.expect(web.process.poll() is None, "the web server has ended")
            log = (home / "web-log").read_text()
            before, error, after = log.partition("Traceback")
            fuzzed.expect(not error, before[-500:] + error + after[:3000])
        finally:
            web.stop()
    return fuzzed
