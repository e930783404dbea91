"""Connections of a web process: heads that never end, too many of one address, no room, and proxies' word."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from twisted.internet.testing import StringTransport

from pmweb import environment
from pmweb.launcher import connections
from pmweb.launcher.channels import TransferDeadline
from pmweb.launcher.connections import is_trusted
from tests.runs.fixtures import migrated, opened
from tests.runs.machines.fixtures import Web

__all__ = ["migrated"]

MAX_CONNECTIONS, HEAD_SECONDS = 20, 4
SOON = 60.0
"""Seconds within which a busy computer does what takes `HEAD_SECONDS`."""

ASK = b"GET /health/ HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def web(migrated: Path, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Web]:
    """A web process at which one address holds at most `MAX_CONNECTIONS` connections.

    Few files are allowed at first.
    """
    with opened(migrated, tmp_path_factory.mktemp("site"), django_db_blocker) as site:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PMWEB_CONNECTIONS_PER_ADDRESS", str(MAX_CONNECTIONS))
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
        while time.monotonic() - begun < SOON:
            try:
                slow.sendall(b"X-Slow: 1\r\n")
                said += slow.recv(4096)
                if b"408" in said:
                    break
            except TimeoutError:
                continue
        assert said.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - begun > HEAD_SECONDS - 2


def test_whoever_says_nothing_is_let_go_and_kept_connections_are_not(web: Web):
    with connect(web, "127.0.0.3") as silent, connect(web, "127.0.0.3") as kept:
        assert b"200 OK" in ask(kept)
        silent.settimeout(SOON)
        assert silent.recv(100) == b""
        assert b"200 OK" in ask(kept), "between requests there is more time"


def test_of_one_address_are_few_and_one_ends_for_one_more(web: Web):
    with ExitStack() as stack:
        elsewhere = stack.enter_context(connect(web, "127.0.0.5"))
        first, *others = [stack.enter_context(connect(web, "127.0.0.4")) for _ in range(MAX_CONNECTIONS)]
        assert b"200 OK" in ask(others[-1])
        assert b"200 OK" in ask(stack.enter_context(connect(web, "127.0.0.4")))
        with pytest.raises(ConnectionResetError):
            first.recv(1)
        assert b"200 OK" in ask(others[-1]), "it had said something last"
        assert b"200 OK" in ask(elsewhere)


def test_eleven_hundred_that_are_half_open_leave_room_for_others(web: Web):
    """More than a process may open files by default."""
    with ExitStack() as stack:
        for number in range(1100):
            half = stack.enter_context(connect(web, f"127.0.1.{1 + number // (MAX_CONNECTIONS - 1)}"))
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


@dataclass(eq=False)
class Held:
    """Stands for a connection at an address."""

    holder: str = ""
    still: float = 0.0

    @property
    def transport(self) -> Held:
        return self

    def idle_seconds(self, now: float) -> float:
        return self.still

    def getPeer(self) -> SimpleNamespace:
        return SimpleNamespace(host="127.0.0.1")

    def abortConnection(self) -> None:
        self.still = -1.0


def ended_of(*held: Held) -> list[Held]:
    """Those that end when one more connects to an address that has as many as it may."""
    crowd = connections.Connections(server=None)
    crowd._by_network["127.0.0.1"] = dict.fromkeys(held)
    accepted = crowd._end_connection_at("127.0.0.1")
    ended = [connection for connection in held if connection.still < 0]
    assert accepted == bool(ended)
    assert not set(ended) & set(crowd._by_network["127.0.0.1"])
    return ended


def test_who_holds_most_loses_the_one_that_has_stood_still_for_longest():
    strangers = [Held(still=still) for still in (1.0, 9.0, 2.0)]
    ada = [Held("ada", 30.0), Held("ada", 20.0)]
    many = [Held("bob", float(still)) for still in range(connections.CONNECTIONS_PER_PERSON + 4)]
    assert ended_of(*strangers, *ada, *many) == [many[-1]]
    assert ended_of(*strangers, *ada) == [strangers[1]]


def test_strangers_count_together_and_make_room_even_at_work():
    strangers = [Held() for _ in range(3)]
    assert len(ended_of(*strangers, Held("ada"), Held("bob"))) == 1
    assert len(ended_of(Held(), *(Held("ada") for _ in range(connections.CONNECTIONS_PER_PERSON)))) == 1


def test_persons_at_work_lose_nothing_unless_they_have_many():
    assert not ended_of(*(Held(name) for name in ("ada", "bob", "grace") for _ in range(4)))
    assert not ended_of(*(Held("ada") for _ in range(connections.CONNECTIONS_PER_PERSON)))
    assert ended_of(*(Held("ada") for _ in range(connections.CONNECTIONS_PER_PERSON + 1)))


async def test_where_none_can_be_spared_one_more_is_refused(settings: Any):
    crowd = connections.Connections(server=None)
    settings.CONNECTIONS_PER_ADDRESS = 2
    crowd._by_network["127.0.0.1"] = dict.fromkeys([Held("ada"), Held("bob")])
    at = SimpleNamespace(host="127.0.0.1")
    assert isinstance(crowd.buildProtocol(at), connections.ConnectionRefused)
    settings.TRUSTED_PROXIES = environment.networks("", "127.0.0.1")
    assert not isinstance(crowd.buildProtocol(at), connections.ConnectionRefused)
    refusal = StringTransport()
    refused = connections.ConnectionRefused()
    refused.makeConnection(refusal)
    refused.dataReceived(b"GET")
    assert refusal.value().startswith(b"HTTP/1.1 429")


@pytest.mark.parametrize(
    ("trusted", "forwarded", "visitor"),
    [
        ("0.0.0.0/0,::/0", "198.51.100.7", "198.51.100.7"),
        ("0.0.0.0/0,::/0", "203.0.113.1, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.0/8", "203.0.113.1, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.0/8", "203.0.113.1, 198.51.100.7, 10.0.0.3", "198.51.100.7"),
        ("10.0.0.0/8", "203.0.113.1,198.51.100.7,10.0.0.3,10.0.0.4", "198.51.100.7"),
        ("10.0.0.0/8", "10.0.0.9, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.0/8", "nonsense", "nonsense"),
        ("10.0.0.0/8", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.0/8", "10.0.0.5", "10.0.0.5"),
    ],
)
def test_what_a_visitor_writes_before_the_proxy_s_word_does_not_count(
    settings: Any, monkeypatch: pytest.MonkeyPatch, trusted: str, forwarded: str, visitor: str
):
    settings.TRUSTED_PROXIES = environment.networks("", trusted)
    assert connections.visitor_of(forwarded) == visitor


def test_patience_with_a_rate_pauses_and_an_end(settings: Any):
    settings.STALL_SECONDS, settings.BYTES_PER_SECOND = 30, 1000
    patience = TransferDeadline(0.0, end=1000.0)
    assert not patience.is_expired(30.0)
    assert patience.is_expired(31.0), "a pause"
    for second in range(0, 900, 25):
        patience.record(1, float(second))
        assert patience.is_expired(float(second)) == (second > 30), "a byte now and then"
    slow = TransferDeadline(0.0, end=1000.0)
    for second in range(20, 1000, 20):
        slow.record(25_000, float(second))
        assert not slow.is_expired(second + 20.0), "slow, with pauses"
    assert slow.is_expired(1001.0), "it takes too long altogether"


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
    monkeypatch.setenv("PMWEB_TRUSTED_PROXIES", ",".join(trusted))
    settings.TRUSTED_PROXIES = environment.networks("PMWEB_TRUSTED_PROXIES", "")
    assert is_trusted(address) == is_so
