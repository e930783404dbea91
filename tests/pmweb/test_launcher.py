"""`manage.py up`, with real processes: starting, staying up, ending, and saying why not."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from pmweb.launcher.address import interface_addresses
from tests.launched import LaunchedSite, descendants, is_alive, wait_for_death, wait_until
from tests.prepared import migrated_file


@contextmanager
def launched(home: Path, *options: str, **environment: str) -> Iterator[LaunchedSite]:
    """A site without an agent: that one has tests of its own (`test_local_agent`)."""
    site = LaunchedSite(home, "--port", "0", "--no-agent", *options, environment=environment)
    try:
        yield site
    finally:
        if is_alive(site.pid):
            site.stop()


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """One data directory for this module, filled by a first start."""
    home = tmp_path_factory.mktemp("home")
    with launched(home) as site:
        site.login_link()
    return home


@pytest.fixture(scope="module")
def running(home, tmp_path_factory) -> Iterator[LaunchedSite]:
    """A site that all tests but the last leave running: a second start, on data that was open to others."""
    copy = shutil.copytree(home, tmp_path_factory.mktemp("running") / "home")
    subprocess.run(["chmod", "-R", "a+rX", str(copy)], check=True)
    with launched(copy) as site:
        yield site


@pytest.fixture(scope="module")
def wide(home, tmp_path_factory) -> Iterator[LaunchedSite]:
    """The same with two web processes that serve the network."""
    copy = shutil.copytree(home, tmp_path_factory.mktemp("wide") / "home")
    with launched(copy, "--host", "0.0.0.0", PMWEB_WEB_PROCESSES="2") as site:
        yield site


@pytest.fixture
def own(home) -> Iterator[LaunchedSite]:
    """A site for one test."""
    with launched(home) as site:
        yield site


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health/", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def manage(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
        env={**os.environ, "PMWEB_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def count(home: Path, table: str) -> int:
    with sqlite3.connect(home / "pmweb.sqlite3") as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_kill_9_of_the_supervisor_takes_its_children_along(home, tmp_path):
    copy = shutil.copytree(home, tmp_path / "home")  # sockets are left behind
    with launched(copy) as site:
        site.login_link()
        family = descendants(site.pid)
        assert len(family) >= 2
        site.send(signal.SIGKILL)
        site.wait()
        wait_for_death(family)


def test_killed_children_are_started_again_and_the_address_stays(running):
    address, _ = running.login_link()
    for part, name in (("daphne", "the web process"), ("manage.py work", "the worker")):
        before = running.child(part)
        assert running.kill_child(part) != before
        running.wait_for(f"{name} was ended by SIGKILL; starting it again")
    wait_until(lambda: answers(address), 60, "the new web process")


def test_a_request_made_while_the_web_process_is_replaced_is_answered_not_refused(running):
    address, _ = running.login_link()
    os.kill(running.child("daphne"), signal.SIGKILL)
    with urllib.request.urlopen(f"{address}/health/", timeout=60) as answer:
        assert answer.status == 200


def test_of_several_web_processes_the_others_answer_while_one_is_replaced(wide):
    address, _ = wide.login_link()
    wait_until(lambda: len(webs(wide)) == 2, 60, "two web processes")
    for victim in webs(wide):
        os.kill(victim, signal.SIGKILL)
        with urllib.request.urlopen(f"{address}/health/", timeout=60) as answer:
            assert answer.status == 200
        wait_until(lambda victim=victim: len(webs(wide) - {victim}) == 2, 60, "another one in its place")


def webs(site: LaunchedSite) -> set[int]:
    return {pid for pid, command in descendants(site.pid).items() if "daphne" in command and is_alive(pid)}


def test_a_second_start_keeps_the_data_and_prepares_nothing(home, running):
    schemes = count(home, "inference_instructionscheme")
    assert schemes > 0
    running.login_link()
    assert "preparing the database" not in running.output
    assert "collecting the static files" not in running.output
    assert count(running.home, "inference_instructionscheme") == schemes
    assert count(running.home, "auth_user") == 1


def test_the_printed_link_opens_and_another_one_can_be_had(running):
    address, path = running.login_link()
    with urllib.request.urlopen(address + path) as answer:
        assert "Log in" in answer.read().decode()
    hint = next(line.strip() for line in running.lines if "manage.py login-link" in line)
    another = subprocess.run(
        shlex.split(hint),
        env={**os.environ, "PMWEB_HOME": str(running.home)},
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        timeout=120,
    ).stdout.strip()
    assert another.startswith(f"{address}/login/")
    assert another != address + path
    with urllib.request.urlopen(another) as answer:
        assert "Log in" in answer.read().decode()


def test_the_terminal_stays_quiet_about_pages_that_visitors_do_not_get(running):
    address, path = running.login_link()
    for wrong in ("/no-such-page/", "/login/guessed-token/"):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(address + wrong)
    request = urllib.request.Request(address + path, data=b"")
    with pytest.raises(urllib.error.HTTPError, match="403"):  # no CSRF token: Django warns, with the path
        urllib.request.urlopen(request)
    running.wait_for("Forbidden")
    after = running.output.partition("Ctrl-C stops everything")[2]
    assert "django.request" not in after
    assert path.split("/")[2] not in after
    assert " INFO " not in running.output


def test_what_was_open_to_others_is_closed_by_a_start_and_nothing_open_is_written(running):
    running.login_link()
    names = {path.name: path.stat().st_mode & 0o077 for path in (running.home, *running.home.rglob("*"))}
    assert {"home", "pmweb.sqlite3", "pmweb.sqlite3-wal", "secret-key", "up.lock", "wakeups"} <= set(names)
    assert {name: mode for name, mode in names.items() if mode} == {}


def test_the_same_data_directory_runs_once_and_the_second_start_says_where(running):
    address, _ = running.login_link()
    second = manage(running.home, "up", "--port", "0")
    assert second.returncode != 0
    assert f"pmweb is already running at {address}/" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_port_that_another_pmweb_has_is_named_so(running, tmp_path):
    address, _ = running.login_link()
    second = manage(tmp_path, "up", "--port", address.rpartition(":")[2])
    assert second.returncode != 0
    assert "pmweb is already running at" in second.stderr
    assert "--port" in second.stderr


def test_a_port_that_something_else_has_is_refused_in_words(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        answer = manage(tmp_path, "up", "--port", str(port))
    assert answer.returncode != 0
    assert f"port {port} is taken by another program" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--port", "70000"), "from 0 to 65535"),
        (("--host", "203.0.113.7", "--port", "0"), "no IPv4 address of this host"),
        (("--host", "no-such-host.invalid", "--port", "0"), "no IPv4 address of this host"),
    ],
)
def test_an_address_that_cannot_be_had_is_refused_in_words(tmp_path, options, words):
    answer = manage(tmp_path, "up", *options)
    assert answer.returncode != 0
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_database_of_a_newer_version_is_left_alone(tmp_path, tmp_path_factory):
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(migrated_file(tmp_path_factory), home)
    with sqlite3.connect(home / "pmweb.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('inference', '9999_future', '2030-01-01')"
        )
    answer = manage(home, "up", "--port", "0")
    assert answer.returncode != 0
    assert "is of a newer version of pmweb" in answer.stderr
    assert "inference.9999_future" in answer.stderr


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path):
    garbage = tmp_path / "pmweb.sqlite3"
    garbage.write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    before = garbage.read_bytes()
    answer = manage(tmp_path, "up", "--port", "0")
    assert answer.returncode != 0
    assert str(garbage) in answer.stderr
    assert "Traceback" not in answer.stderr
    assert garbage.read_bytes() == before


def test_a_data_directory_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").touch()
    answer = manage(tmp_path / "file" / "home", "up", "--port", "0")
    assert answer.returncode != 0
    assert f"cannot write to the data directory {tmp_path}/file/home" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_secret_key_that_cannot_be_read_is_told_before_the_site_starts(tmp_path):
    (tmp_path / "secret-key").mkdir()
    answer = manage(tmp_path, "up", "--port", "0")
    assert answer.returncode != 0
    assert f"the data directory {tmp_path} cannot be used" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["login-link"],
        ["load-isa"],
        ["evaluate", "--mapping", "m", "--dataset", "d"],
        ["export", "mapping", "m"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_without_data_says_what_to_do_and_leaves_nothing_behind(tmp_path, command):
    home = tmp_path / "nowhere"
    answer = manage(home, *command)
    assert answer.returncode == 1
    assert f"there is no usable database in {home}" in answer.stderr
    assert "make run" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not home.exists()


def test_import_prepares_an_empty_data_directory_and_infer_goes_on_there(tmp_path):
    home, file = tmp_path / "new", tmp_path / "measured.csv"
    scheme = "add GPR[64]:RW, GPR[64]:R"
    file.write_text(f'experiment,cycles\n"{scheme}",0.25\n"2*{scheme}",0.5\n')
    answer = manage(home, "import", str(file), "--name", "measured")
    assert answer.returncode == 0, answer.stderr
    assert f"prepared {home}: it was empty" in answer.stderr
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    options = ("--algorithm", "pmevo", "--dataset", "measured", "--ports", "4", "--set", "perturbations=1")
    inferred = manage(home, "infer", *options)
    assert "1 schemes" in inferred.stdout, inferred.stderr
    assert "prepared" not in inferred.stderr


def test_outside_the_environment_the_command_line_says_which_python_to_use(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-I", "-S", str(settings.BASE_DIR / "manage.py"), "help"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert answer.returncode == 1
    assert ".venv/bin/python manage.py" in answer.stderr
    assert "make setup" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_serving_the_network_prints_this_hosts_addresses_and_answers_by_them(wide):
    wide.login_link()
    announced = [line.strip() for line in wide.lines if "/login/" in line]
    assert announced[0].startswith("http://localhost:")
    answered = [address for address in announced if _answers(address)]
    # An address may have been that of a network between processes which is gone by now.
    gone = {urlsplit(address).hostname for address in announced if address not in answered}
    assert not gone & set(interface_addresses())
    assert answered[0] == announced[0]


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_a_web_process_that_cannot_start_is_given_up_with_its_reason(home, tmp_path):
    poison = (
        "import os, sys\nif 'pmweb.launcher.daphne' in sys.orig_argv:\n"
        "    os.write(2, b'no reactor here'); os._exit(3)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(poison)
    with launched(home, PYTHONPATH=str(tmp_path)) as site:
        assert site.wait(60) != 0
        assert "the web process ended 3 times before the site answered" in site.output
        assert site.output.count("no reactor here") == 3


@pytest.mark.parametrize(
    ("name", "number"), [("running", signal.SIGINT), ("wide", signal.SIGTERM), ("own", signal.SIGHUP)]
)
def test_a_stop_signal_ends_everything_and_leaves_nothing(request, name, number):
    """Comes last, and ends the sites that the others left running."""
    site = request.getfixturevalue(name)
    address, _ = site.login_link()
    assert answers(address)
    family = descendants(site.pid)
    assert any("daphne" in command for command in family.values())
    assert any("manage.py work" in command for command in family.values())
    site.send(number)
    assert site.wait() == 0
    wait_for_death(family)
    assert not answers(address)
    assert "pmweb has stopped" in site.output
