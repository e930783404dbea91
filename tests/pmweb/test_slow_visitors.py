"""Visitors who send or read slowly, or not at all: what they hold and for how long, and what others have."""

from __future__ import annotations

import base64
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from inference.models import Run, RunEvent
from pmweb.models import Role, Scope
from tests.launched import wait_until
from tests.pmweb.test_large_requests import cookie, somebody, token
from tests.runs.fixtures import migrated, opened
from tests.runs.machines.fixtures import Web

__all__ = ["migrated"]

MIB = 1 << 20
MAX_CONNECTIONS, STALL_SECONDS = 20, 3
SOON = 60.0
"""Seconds within which a busy computer does what takes `STALL_SECONDS`."""

ASK = b"GET /health/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
LONG = bytes(range(256)) * (8 * MIB // 256)


@pytest.fixture(scope="module")
def web(migrated: Path, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Web]:
    """A web process whose visitors may pause for `STALL_SECONDS`, with a file of 8 MiB for everybody."""
    with opened(migrated, tmp_path_factory.mktemp("site"), django_db_blocker) as site:
        (site.home / "static").mkdir()
        (site.home / "static" / "long.bin").write_bytes(LONG)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PMWEB_CONNECTIONS_PER_ADDRESS", str(MAX_CONNECTIONS))
            patch.setenv("PMWEB_STALL_SECONDS", str(STALL_SECONDS))
            patch.setenv("PMWEB_HEAD_SECONDS", str(STALL_SECONDS))
            patch.setenv("PMWEB_SECRET_KEY", settings.SECRET_KEY)
            process = Web(site)
        with connect(process, "127.0.0.1") as first:
            assert b"200 OK" in ask(first)
        yield process
        process.stop()


def connect(web: Web, source: str, *, buffer: int = 0) -> socket.socket:
    """A connection from an address of this host; `buffer`: how many bytes its kernel takes for it."""
    host, port = web.address.removeprefix("http://").split(":")
    connection = socket.socket()
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.bind((source, 0))
    connection.settimeout(60)
    connection.connect((host, int(port)))
    return connection


def ask(connection: socket.socket, request: bytes = ASK) -> bytes:
    """The beginning of what is answered."""
    connection.sendall(request)
    return connection.recv(4096)


def heard(connection: socket.socket) -> bytes:
    """All that comes until the connection ends, in whatever way."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def drip(connection: socket.socket, pieces: Iterator[bytes], pause: float, seconds: float = SOON) -> bytes:
    """What is answered to one who sends a piece now and then; empty if the connection is just ended."""
    connection.settimeout(pause)
    deadline = time.monotonic() + seconds
    for piece in pieces:
        assert time.monotonic() < deadline, "it goes on and on"
        try:
            connection.sendall(piece)
            return connection.recv(4096)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return b""
    connection.settimeout(60)
    return connection.recv(4096)


def bytes_for_ever() -> Iterator[bytes]:
    while True:
        yield b"1"


def chunks_for_ever() -> Iterator[bytes]:
    while True:
        yield b"1\r\n1\r\n"


HEADS_OF_SLOW_BODIES = {
    "short": (b"Content-Length: 90000", bytes_for_ever),
    "in a file": (b"Content-Length: 8000000", bytes_for_ever),
    "of a stranger, large": (b"Cookie: sessionid-80=x\r\nContent-Length: 80000000", bytes_for_ever),
    "in chunks": (b"Transfer-Encoding: chunked", chunks_for_ever),
    "in a chunk whose length never ends": (b"Transfer-Encoding: chunked", bytes_for_ever),
    "after it was told to go on": (b"Content-Length: 90000\r\nExpect: 100-continue", bytes_for_ever),
}


def test_bodies_that_drip_in_are_ended(web: Web):
    def answer(kind: str) -> bytes:
        head, pieces = HEADS_OF_SLOW_BODIES[kind]
        with connect(web, "127.0.1.1") as slow:
            slow.sendall(b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n")
            answer = drip(slow, pieces(), 0.3)
            return drip(slow, pieces(), 0.3) if b"100 Continue" in answer else answer

    with ThreadPoolExecutor() as pool:
        answers = dict(zip(HEADS_OF_SLOW_BODIES, pool.map(answer, HEADS_OF_SLOW_BODIES), strict=True))
    statuses = {kind: text.split()[1] for kind, text in answers.items()}
    assert statuses.pop("of a stranger, large") == b"413"
    assert set(statuses.values()) <= {b"400", b"408"}, statuses


def test_a_body_over_a_slow_line_arrives(web: Web):
    length = 40 * 2048
    with connect(web, "127.0.1.2") as slow:
        begun = time.monotonic()
        slow.sendall(b"POST /api/v1/decode HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
        answer = drip(slow, iter([b"x" * 2048] * 40), 0.1)
        assert time.monotonic() - begun > STALL_SECONDS, "it took longer than a pause may"
        assert b"application/problem+json" in answer, "by the site itself"


def test_a_second_head_that_drips_in_is_ended_too(web: Web):
    with connect(web, "127.0.1.3") as slow:
        assert b"200 OK" in ask(slow)
        assert drip(slow, bytes_for_ever(), 0.3) in {b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"}


HALF_A_BODY = b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\nx"
UNREAD = b"GET /static/long.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("first", [b"", b"GET / HT", HALF_A_BODY, UNREAD], ids=repr)
def test_slow_ones_do_not_lock_their_address_out(web: Web, first: bytes):
    """Through `ssh -L` everybody comes from one."""
    with ExitStack() as stack:
        for _ in range(3 * MAX_CONNECTIONS):
            stack.enter_context(connect(web, "127.0.1.4")).sendall(first)
        assert b"200 OK" in ask(stack.enter_context(connect(web, "127.0.1.4")))


def test_who_is_known_keeps_their_connections_whoever_crowds_in(web: Web):
    shown = token(somebody(Role.VIEWER), Scope.READ)
    about_me = f"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n\r\n".encode()
    with ExitStack() as stack:
        known = stack.enter_context(connect(web, "127.0.1.5"))
        assert b"200 OK" in ask(known, about_me)
        for _ in range(3 * MAX_CONNECTIONS):
            stack.enter_context(connect(web, "127.0.1.5")).sendall(b"GET")
        assert b"200 OK" in ask(known, about_me)


def memory(web: Web) -> int:
    """Bytes that a web process has in memory."""
    pages = Path(f"/proc/{web.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_a_download_that_nobody_reads_takes_little_memory_and_ends(web: Web):
    with connect(web, "127.0.1.6") as once:  # what the first one loads stays
        ask(once, b"GET /static/long.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        heard(once)
    before = memory(web)
    with ExitStack() as stack:
        unread = [stack.enter_context(connect(web, "127.0.1.6", buffer=4096)) for _ in range(MAX_CONNECTIONS)]
        for connection in unread:
            connection.sendall(UNREAD)
        for connection in unread:
            assert connection.recv(1, socket.MSG_PEEK) == b"H"
        assert b"200 OK" in ask(stack.enter_context(connect(web, "127.0.1.7")))
        assert memory(web) - before < MAX_CONNECTIONS * MIB
        wait_until(lambda: all(map(has_ended, unread)), SOON, "the end of those who do not read")


def has_ended(connection: socket.socket) -> bool:
    """Whether the other side has ended a connection of which nothing was read."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0 or _is_reset(connection)


def _is_reset(connection: socket.socket) -> bool:
    # TCP_INFO begins with the state: 1 is established, 7 closed.
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] not in {1}


def test_an_answer_that_is_closed_after_it_ends_unread_too(web: Web):
    with connect(web, "127.0.1.8", buffer=4096) as unread:
        unread.sendall(UNREAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        wait_until(lambda: has_ended(unread), SOON, "its end")


def test_a_download_over_a_slow_line_arrives(web: Web):
    with connect(web, "127.0.1.9", buffer=1 << 16) as slow:
        slow.sendall(b"GET /static/long.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        begun, read = time.monotonic(), b""
        while time.monotonic() - begun < 2 * STALL_SECONDS:
            read += slow.recv(1 << 14)
            time.sleep(0.1)
        assert (read + heard(slow)).endswith(LONG)


def handshake(web: Web, path: str, user: User | None) -> bytes:
    """The head of a request for a WebSocket, as a browser sends it that is logged in."""
    key = base64.b64encode(os.urandom(16)).decode()
    port = web.address.rpartition(":")[2]
    session = [] if user is None else [cookie(user).replace("sessionid-80=", f"sessionid-{port}=")]
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: localhost:{port}",
        f"Origin: http://localhost:{port}",
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        *(f"Sec-WebSocket-Key: {key}", *session, "", ""),
    )
    return "\r\n".join(lines).encode()


@pytest.fixture(scope="module")
def long_run(web: Web) -> Run:
    """A run with a journal of 16 MiB."""
    run = Run.objects.create(name="long", kind="infer")
    RunEvent.objects.bulk_create(
        RunEvent(run=run, seq=seq, kind="log", payload={"text": "x" * 8192}, at=timezone.now())
        for seq in range(1, 2049)
    )
    return run


def test_a_socket_that_nobody_reads_takes_little_memory_and_ends(web: Web, long_run: Run):
    viewer, path = somebody(Role.VIEWER), f"/ws/runs/{long_run.pk}/"
    with connect(web, "127.0.1.10") as once:
        assert b"101 Switching" in ask(once, handshake(web, path, viewer))
    before = memory(web)
    with ExitStack() as stack:
        unread = [
            stack.enter_context(connect(web, "127.0.1.10", buffer=4096)) for _ in range(MAX_CONNECTIONS)
        ]
        for connection in unread:
            connection.sendall(handshake(web, path, viewer))
        for connection in unread:
            assert connection.recv(1, socket.MSG_PEEK) == b"H"
        wait_until(lambda: all(map(has_ended, unread)), SOON, "the end of those who do not read")
    assert memory(web) - before < 2 * MAX_CONNECTIONS * MIB


def test_a_socket_that_is_read_slowly_gets_the_whole_journal(web: Web, long_run: Run):
    with connect(web, "127.0.1.11", buffer=1 << 16) as slow:
        slow.sendall(handshake(web, f"/ws/runs/{long_run.pk}/", somebody(Role.VIEWER)))
        begun, size = time.monotonic(), 0
        while size < 16 * MIB:
            part = slow.recv(1 << 16)
            assert part, f"it ended after {size} bytes"
            size += len(part)
            if time.monotonic() - begun < 2 * STALL_SECONDS:
                time.sleep(0.05)


def test_a_browser_s_socket_takes_in_little(web: Web):
    with connect(web, "127.0.1.12") as loud:
        assert b"101 Switching" in ask(loud, handshake(web, "/ws/runs/", somebody(Role.VIEWER)))
        loud.sendall(b"\x82\xff" + (3 * MIB).to_bytes(8, "big") + bytes(4))
        assert heard(loud) == b"", "it has ended before the first ping, after which others end"
