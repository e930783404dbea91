"""A machine, runs that measure on it, and agents that answer at once, on a real database file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import pytest
from django.conf import settings

from inference.agent.protocol import Batch, BatchItem, Frame, Settings
from inference.models import Batch as BatchRow
from inference.models import Machine
from inference.runs import leases
from inference.runs.machines import sessions
from inference.runs.machines.board import DatabaseBoard
from inference.storage.instruction_sets import new_isa
from pmweb.launcher.address import BACKLOG
from pmweb.launcher.site import DAPHNE
from pmweb.launcher.supervisor import tie_to_parent
from tests.runs.fixtures import Site, wait_for
from tests.runs.machines.answering import FACTS


@pytest.fixture
def home(site: Site, monkeypatch) -> Site:
    """The site, with this process's own wake-ups beside the database."""
    monkeypatch.setattr(settings, "HOME", site.home)
    return site


@pytest.fixture
def machine(home: Site) -> Machine:
    return sessions.add_machine("lab", new_isa("toy", ["add R, R", "mul R, R"], "by hand"))


def batch_of(*schemes: str, padding: int = 0) -> Batch:
    """One experiment per scheme, named after it."""
    code = b"\x90" * (100 + padding)
    items = tuple(
        BatchItem(scheme, code, 100, 50, 50, instructions=1, terms=((scheme, 1),)) for scheme in schemes
    )
    return Batch(Frame(), Settings(), items)


def claim(site: Site, name: str = "a run"):
    """A new run with its lease."""
    run = site.count(name)
    return run, leases.claim("w", only=run.pk)


def deadline(seconds: float = 60.0):
    """A pulse that fails the test after so long a wait."""
    until = time.monotonic() + seconds

    def pulse() -> None:
        assert time.monotonic() < until, f"waited {seconds} s in vain for results"

    return pulse


@contextmanager
def posting(lease, machine: Machine, pulse=None, say=lambda text, waits: None):
    board = DatabaseBoard(lease, machine, pulse or deadline(), say)
    try:
        yield board
    finally:
        board.close()


def connected(machine: Machine, instance: str = "one", **more) -> sessions.Session:
    session = sessions.open_session(machine, instance, more.pop("facts", FACTS), **more)
    assert isinstance(session, sessions.Session), session
    return session


def state_of(batch: int) -> str:
    return BatchRow.objects.values_list("state", flat=True).get(pk=batch)


class Web:
    """A web process of the site, on a port that stays the same when the process is replaced."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._server = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.start()

    def start(self) -> None:
        number = self._server.fileno()
        environment = {
            **os.environ,
            "PMWEB_HOME": str(self._site.home),
            "DJANGO_SETTINGS_MODULE": "pmweb.settings",
        }
        self.process = subprocess.Popen(
            [sys.executable, *DAPHNE, "--fd", str(number), "pmweb.asgi:application"],
            env=environment,
            cwd=settings.BASE_DIR,
            pass_fds=(number,),
            stdout=(self._site.home / "web-log").open("ab"),
            stderr=subprocess.STDOUT,
            preexec_fn=partial(tie_to_parent, os.getpid()),  # noqa: PLW1509  nothing stays when tests are killed
        )

    @property
    def socket_address(self) -> str:
        return self.address.replace("http", "ws") + "/ws/agent/"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.kill()
        self._server.close()


class AgentProcess:
    """The protocol spoken by `answering`, in a process of its own."""

    def __init__(self, web: Web, token: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.runs.machines.answering", web.socket_address, token, *options],
            cwd=settings.BASE_DIR,
            preexec_fn=partial(tie_to_parent, os.getpid()),  # noqa: PLW1509
        )

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def web(home: Site):
    running = Web(home)
    yield running
    running.stop()


def wait_until_online(machine: Machine) -> None:
    def online():
        machine.refresh_from_db()
        return machine.is_online()

    wait_for(online)
