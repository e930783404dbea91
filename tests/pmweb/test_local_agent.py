"""The agent that `manage.py up` starts for its own computer, with real processes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from inference.models import Machine
from inference.runs.machines.sessions import add_machine, machine_of
from pmweb.launcher import site as launching
from tests.launched import LaunchedSite, descendants, is_alive, wait_for_death, wait_until
from tests.prepared import prepared_home

AGENT = "-m inference.agent"
VARIABLE = "PMWEB_AGENT_TOKEN"
PATIENCE = 120.0


@contextmanager
def launched(home: Path, *options: str) -> Iterator[LaunchedSite]:
    site = LaunchedSite(home, "--port", "0", *options, environment={"PMWEB_SECRET_KEY": "x" * 60})
    try:
        yield site
    finally:
        if is_alive(site.pid):
            site.stop()


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A data directory in which a site has run without an agent."""
    home = prepared_home(tmp_path_factory, tmp_path_factory.mktemp("without") / "home")
    with launched(home, "--no-agent") as site:
        site.login_link()
        assert not machines(home)
        assert not any(AGENT in command for command in descendants(site.pid).values())
    return home


def measuring(home: Path, folder: Path, *options: str) -> Iterator[LaunchedSite]:
    """A site on a copy of the data, whose agent has come online."""
    with launched(shutil.copytree(home, folder / "home"), *options) as site:
        site.login_link()
        wait_for_session(site)
        yield site


@pytest.fixture(scope="module")
def running(home, tmp_path_factory) -> Iterator[LaunchedSite]:
    """One for several tests; the last ends it."""
    yield from measuring(home, tmp_path_factory.mktemp("running"))


@pytest.fixture(scope="module")
def wide(home, tmp_path_factory) -> Iterator[LaunchedSite]:
    """One that serves the network, for several tests; after the last it has no agent."""
    yield from measuring(home, tmp_path_factory.mktemp("wide"), "--host", "0.0.0.0")


@pytest.fixture
def own(home, tmp_path) -> Iterator[LaunchedSite]:
    """One for one test."""
    yield from measuring(home, tmp_path)


def machines(home: Path) -> list[tuple[str, bool]]:
    """Name of every machine, and whether its agent is connected."""
    return query(home, "SELECT name, last_seen IS NOT NULL FROM inference_machine")


def query(home: Path, text: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{home}/pmweb.sqlite3?mode=ro", uri=True) as database:
        return database.execute(text).fetchall()


def session_count(home: Path) -> int:
    """How many connections the agent has had."""
    rows = query(home, "SELECT session FROM inference_machine WHERE local")
    return int(str(rows[0][0])) if rows else 0


def wait_for_session(site: LaunchedSite, number: int = 1) -> None:
    wait_until(lambda: session_count(site.home) >= number, PATIENCE, f"connection {number}\n{site.output}")


def environment_of(pid: int) -> dict[str, str]:
    words = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def users_of(pid: int) -> set[int]:
    """Real, effective, saved and file-system user of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return {int(word) for line in status.splitlines() if line.startswith("Uid:") for word in line.split()[1:]}


def test_the_local_machine_comes_online_by_itself_unprivileged_and_with_a_hidden_token(running):
    assert [online for _, online in machines(running.home)] == [True]
    agent = running.child(AGENT)
    family = descendants(agent)
    assert family, "the agent measures in processes of their own"
    assert not {VARIABLE, "PMWEB_SECRET_KEY"} & set(environment_of(agent))
    for command in descendants(running.pid).values():
        assert "pmweb_" not in command
    assert "pmweb_" not in running.output
    if os.geteuid() == 0:
        for pid in (agent, *family):
            assert 0 not in users_of(pid)


def test_a_killed_agent_is_replaced_and_nothing_stays_at_the_end(running):
    had = session_count(running.home)
    before = running.child(AGENT)
    orphans = descendants(before)
    assert running.kill_child(AGENT) != before
    running.wait_for("the agent was ended by SIGKILL; starting it again")
    wait_for_session(running, had + 1)
    wait_for_death(orphans)
    assert len(machines(running.home)) == 1
    family = descendants(running.pid)
    running.send(signal.SIGTERM)
    assert running.wait() == 0
    wait_for_death(family)


def test_kill_9_of_the_supervisor_takes_the_agent_along(own):
    family = descendants(own.pid)
    assert any(AGENT in command for command in family.values())
    own.send(signal.SIGKILL)
    own.wait()
    wait_for_death(family)


def test_a_site_that_serves_the_network_is_reached_by_its_agent_too(wide):
    assert [online for _, online in machines(wide.home)] == [True]


def test_a_killed_web_process_is_found_again_by_the_agent(wide):
    had = session_count(wide.home)
    agent = wide.child(AGENT)
    wide.kill_child("daphne")
    wait_for_session(wide, had + 1)
    assert wide.child(AGENT) == agent


def test_an_agent_whose_token_is_revoked_is_not_started_again_and_the_site_goes_on(wide):
    [(name, _)] = machines(wide.home)
    subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "revoke-machine", name],
        env={**os.environ, "PMWEB_HOME": str(wide.home)},
        check=True,
        capture_output=True,
        timeout=120,
    )
    wide.wait_for("the agent ended with status 2; starting it again would change nothing")
    assert "revoked" in wide.output
    assert wide.child("daphne")
    assert not any(AGENT in command for command in descendants(wide.pid).values())


@pytest.mark.django_db
def test_this_computer_is_one_machine_however_often_the_site_starts():
    first = launching.local_machine()
    assert first.name == socket.gethostname()
    assert (first.kind, first.local) == ("agent", True)
    assert launching.local_machine() == first


@pytest.mark.django_db
def test_a_name_that_another_machine_has_is_not_taken_away():
    add_machine(socket.gethostname())
    assert launching.local_machine().name == f"{socket.gethostname()} (2)"
    assert Machine.objects.filter(local=True).count() == 1


@pytest.mark.django_db
def test_every_start_has_a_token_of_its_own_and_ends_those_before(monkeypatch):
    monkeypatch.setattr(launching.connection, "close", lambda: None)  # the one that the test is in
    first, second = launching.new_token(), launching.new_token()
    assert machine_of(first) is None
    assert machine_of(second) == launching.local_machine()


@pytest.fixture
def told(monkeypatch) -> None:
    monkeypatch.setattr(launching, "new_token", lambda: "a-secret")
    monkeypatch.setenv("PMWEB_SECRET_KEY", "another-secret")


def test_root_asks_the_agent_to_become_nobody(monkeypatch, told):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    child = launching.local_agent("127.0.0.1", 8000)
    assert child is not None
    assert list(child.command)[-2:] == ["--user", "nobody"]
    assert "http://127.0.0.1:8000" in child.command
    assert not any("secret" in word for word in child.command)
    assert not any("secret" in value for value in child.environment.values())
    assert child.standard_input == b"a-secret\n"


def test_an_ordinary_user_measures_as_himself(monkeypatch, told):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    child = launching.local_agent("127.0.0.1", 8000)
    assert child is not None
    assert "--user" not in child.command
    assert not child.essential


def test_where_there_is_nobody_to_become_no_agent_is_started(monkeypatch, told, caplog):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(launching, "_UNPRIVILEGED", "no-such-user")
    assert launching.local_agent("127.0.0.1", 8000) is None
    assert "this computer has no user 'no-such-user'" in caplog.text
