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
from inference.runs.machines import tokens
from pmweb.launcher import local_agent as launching
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


@pytest.fixture
def own_home(home, tmp_path) -> Path:
    """A copy of it for one test."""
    return shutil.copytree(home, tmp_path / "home")


def machines(home: Path) -> list[tuple[str, bool]]:
    """Name of every machine, and whether its agent is connected."""
    return query(home, "SELECT name, last_seen IS NOT NULL FROM inference_machine")


def query(home: Path, text: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{home}/pmweb.sqlite3?mode=ro", uri=True) as database:
        return database.execute(text).fetchall()


def sessions(home: Path) -> int:
    """How many connections the agent has had."""
    rows = query(home, "SELECT session FROM inference_machine WHERE local")
    return int(str(rows[0][0])) if rows else 0


def wait_for_session(site: LaunchedSite, number: int = 1) -> None:
    wait_until(lambda: sessions(site.home) >= number, PATIENCE, f"connection {number}\n{site.output}")


def environment_of(pid: int) -> dict[str, str]:
    words = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def users_of(pid: int) -> set[int]:
    """Real, effective, saved and file-system user of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return {int(word) for line in status.splitlines() if line.startswith("Uid:") for word in line.split()[1:]}


def test_the_local_machine_comes_online_by_itself_unprivileged_and_with_a_hidden_token(own_home):
    with launched(own_home) as site:
        site.login_link()
        wait_for_session(site)
        assert [online for _, online in machines(own_home)] == [True]
        agent = site.child(AGENT)
        family = descendants(agent)
        assert family, "the agent measures in processes of their own"
        assert not {VARIABLE, "PMWEB_SECRET_KEY"} & set(environment_of(agent))
        for command in descendants(site.pid).values():
            assert "pmweb_" not in command
        assert "pmweb_" not in site.output
        if os.geteuid() == 0:
            for pid in (agent, *family):
                assert 0 not in users_of(pid)


def test_a_killed_agent_is_replaced_and_nothing_stays_at_the_end(own_home):
    with launched(own_home) as site:
        site.login_link()
        wait_for_session(site)
        before = site.child(AGENT)
        orphans = descendants(before)
        assert site.kill_child(AGENT) != before
        site.wait_for("the agent was ended by SIGKILL; starting it again")
        wait_for_session(site, 2)
        wait_for_death(orphans)
        assert len(machines(own_home)) == 1
        family = descendants(site.pid)
        site.send(signal.SIGTERM)
        assert site.wait() == 0
        wait_for_death(family)


def test_kill_9_of_the_supervisor_takes_the_agent_along(own_home):
    with launched(own_home) as site:
        site.login_link()
        wait_for_session(site)
        family = descendants(site.pid)
        assert any(AGENT in command for command in family.values())
        site.send(signal.SIGKILL)
        site.wait()
        wait_for_death(family)


def test_an_agent_whose_token_is_revoked_is_not_started_again_and_the_site_goes_on(own_home):
    with launched(own_home) as site:
        site.login_link()
        wait_for_session(site)
        [(name, _)] = machines(own_home)
        subprocess.run(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "revoke-machine", name],
            env={**os.environ, "PMWEB_HOME": str(own_home)},
            check=True,
            capture_output=True,
            timeout=120,
        )
        site.wait_for("the agent ended with status 2; starting it again would change nothing")
        assert "revoked" in site.output
        assert site.child("daphne")
        assert not any(AGENT in command for command in descendants(site.pid).values())


def test_a_killed_web_process_is_found_again_by_the_agent(own_home):
    with launched(own_home) as site:
        site.login_link()
        wait_for_session(site)
        agent = site.child(AGENT)
        site.kill_child("daphne")
        wait_for_session(site, 2)
        assert site.child(AGENT) == agent


def test_a_site_that_serves_the_network_is_reached_by_its_agent_too(own_home):
    with launched(own_home, "--host", "0.0.0.0") as site:
        site.login_link()
        wait_for_session(site)


@pytest.mark.django_db
def test_this_computer_is_one_machine_however_often_the_site_starts():
    first = launching.local_machine()
    assert first.name == socket.gethostname()
    assert (first.kind, first.local) == ("agent", True)
    assert launching.local_machine() == first


@pytest.mark.django_db
def test_a_name_that_another_machine_has_is_not_taken_away():
    tokens.add_machine(socket.gethostname())
    assert launching.local_machine().name == f"{socket.gethostname()} (2)"
    assert Machine.objects.filter(local=True).count() == 1


@pytest.mark.django_db
def test_every_start_has_a_token_of_its_own_and_ends_those_before(monkeypatch):
    monkeypatch.setattr(launching.connection, "close", lambda: None)  # the one that the test is in
    first, second = launching.new_token(), launching.new_token()
    assert tokens.machine_of(first) is None
    assert tokens.machine_of(second) == launching.local_machine()


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
    assert child.given == b"a-secret\n"


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
    assert "no user 'no-such-user' to measure as" in caplog.text
