"""Connections of a web process: heads that never end, too many of one address, no room, and proxies' word."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from pmweb.launcher import connections
from pmweb.launcher.connections import is_trusted
from tests.runs.fixtures import migrated, opened
from tests.runs.machines.fixtures import Web

__all__ = ["migrated"]

MOST, HEAD_SECONDS = 20, 4
ASK = b"GET /health/ HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def web(migrated: Path, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Web]:
    """A web process at which one address holds at most `MOST` connections; few files are allowed at first."""
    with opened(migrated, tmp_path_factory.mktemp("site"), django_db_blocker) as site:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PMWEB_CONNECTIONS_PER_ADDRESS", str(MOST))
            patch.setenv("PMWEB_HEAD_SECONDS", str(HEAD_SECONDS))
            patch.setenv("PMWEB_SECRET_KEY", settings.SECRET_KEY)
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
            process = Web(site)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with connect(process) as first:
            first.settimeout(60)
            ask(first)
        yield process
        process.stop()


def connect(web: Web, source: str = "127.0.0.1") -> socket.socket:
    host, port = web.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 30, (source, 0))


def ask(connection: socket.socket, request: bytes = ASK) -> bytes:
    """The beginning of what is answered."""
    connection.sendall(request)
    return connection.recv(4096)


def test_a_head_that_drips_in_for_ever_is_ended(web: Web):
    begun = time.monotonic()
    with connect(web, "127.0.0.2") as slow:
        slow.sendall(b"GET /health/ HTTP/1.1\r\nHost: localhost\r\n")
        slow.settimeout(1.0)
        said = b""
        while time.monotonic() - begun < HEAD_SECONDS + 20:
            try:
                slow.sendall(b"X-Slow: 1\r\n")
                said += slow.recv(4096)
                if b"408" in said:
                    break
            except TimeoutError:
                continue
        assert said.startswith(b"HTTP/1.1 408")
        assert HEAD_SECONDS - 2 < time.monotonic() - begun < HEAD_SECONDS + 10


def test_whoever_says_nothing_is_let_go_and_kept_connections_are_not(web: Web):
    with connect(web, "127.0.0.3") as silent, connect(web, "127.0.0.3") as kept:
        assert b"200 OK" in ask(kept)
        silent.settimeout(HEAD_SECONDS + 10)
        assert silent.recv(100) == b""
        assert b"200 OK" in ask(kept), "between requests there is more time"


def test_of_one_address_are_few_and_of_another_as_many(web: Web):
    with ExitStack() as stack:
        for _ in range(MOST):
            stack.enter_context(connect(web, "127.0.0.4"))
        time.sleep(0.5)
        one_more = stack.enter_context(connect(web, "127.0.0.4"))
        answer = ask(one_more)
        assert answer.startswith(b"HTTP/1.1 429")
        assert b"Retry-After" in answer
        assert b"200 OK" in ask(stack.enter_context(connect(web, "127.0.0.5")))
    for _ in range(100):
        with connect(web, "127.0.0.4") as again:
            if b"200 OK" in ask(again):
                return
        time.sleep(0.1)
    pytest.fail("the connections are over, and count on")


def test_eleven_hundred_that_are_half_open_leave_room_for_others(web: Web):
    """More than a process may open files by default."""
    with ExitStack() as stack:
        for number in range(1100):
            half = stack.enter_context(connect(web, f"127.0.1.{1 + number // (MOST - 1)}"))
            half.sendall(b"GET / HTTP/1.1\r\nHost")
        assert b"200 OK" in ask(stack.enter_context(connect(web, "127.0.0.6")))


PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))
from pmweb.launcher.connections import raise_file_limit
print(raise_file_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(("hard", "told"), [(4096, "3840 4096"), (100, "50 100"), (500_000, "65280 65536")])
def test_as_many_files_are_allowed_as_the_kernel_allows(hard: int, told: str):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("the kernel allows this process fewer files")
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "--no-imports", "-c"]
    done = subprocess.run(
        [*command, PROGRAM.format(hard=hard)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == told, done.stderr


class Waiting:
    """Stands for a connection that has not said what it wants."""

    def __init__(self) -> None:
        self.ended = False

    def end(self) -> None:
        self.ended = True


def test_without_room_the_one_ends_that_has_waited_longest(monkeypatch: pytest.MonkeyPatch, settings: Any):
    monkeypatch.setattr(connections, "raise_file_limit", lambda: 0)
    found = connections.Connections(server=None)
    oldest, newest = Waiting(), Waiting()
    found.wrappedFactory.waiting = {oldest: None, newest: None}
    monkeypatch.setattr(found.wrappedFactory, "buildProtocol", lambda _: None)
    found.buildProtocol(None)
    assert (oldest.ended, newest.ended) == (True, False)


@pytest.mark.parametrize(
    ("trusted", "address", "is_so"),
    [
        ([], "10.0.0.1", False),
        (["10.0.0.1/32"], "10.0.0.1", True),
        (["10.0.0.1/32"], "10.0.0.2", False),
        (["10.0.0.0/8"], "::ffff:10.1.2.3", True),
        (["2001:db8::/32"], "2001:db8::7", True),
        (["0.0.0.0/0", "::/0"], "198.51.100.7", True),
    ],
)
def test_the_operator_says_which_proxies_are_trusted(
    monkeypatch: pytest.MonkeyPatch, settings: Any, trusted: list[str], address: str, is_so: bool
):
    from pmweb import environment

    monkeypatch.setenv("PMWEB_TRUSTED_PROXIES", ",".join(trusted))
    settings.TRUSTED_PROXIES = environment.networks("PMWEB_TRUSTED_PROXIES", "")
    assert is_trusted(address) == is_so
