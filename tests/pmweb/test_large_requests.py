"""What the web process takes in: much of those who may upload, little of all others, and more of nobody."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User

from inference.models import Upload
from pmweb.accounts import api_tokens
from pmweb.accounts.sessions import SessionStore
from pmweb.launcher.daphne import ANONYMOUS_BYTES
from pmweb.models import Account, Role, Scope
from tests.runs.fixtures import migrated, opened
from tests.runs.machines.fixtures import Web

__all__ = ["migrated"]

MIB = 1 << 20
MAX_MEMORY = 110 * MIB
LONG_DOCUMENT = 9 * MIB
BOUND = "a-line-between"


@pytest.fixture(scope="module")
def web(migrated: Path, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Web]:
    """A web process whose requests have at most `MAX_MEMORY` bytes."""
    with opened(migrated, tmp_path_factory.mktemp("site"), django_db_blocker) as site:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PMWEB_UPLOAD_MB", "11")
            patch.setenv("PMWEB_REQUEST_MB", "12")
            patch.setenv("PMWEB_SECRET_KEY", settings.SECRET_KEY)
            process = Web(site)
        yield process
        process.stop()


class Visit:
    """One connection, on which bytes are sent as they are."""

    def __init__(self, web: Web) -> None:
        host, port = web.address.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=60)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def head(self, path: str, *headers: str, method: str = "POST") -> None:
        self.send("\r\n".join((f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", "")).encode())

    def chunks(self, size: int) -> None:
        """So many bytes in chunks, or as many as the server will have."""
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(size // 0x10000):
                self.send(piece)
            self.send(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self) -> tuple[int, str]:
        """(status, all that came) once the server has closed the connection."""
        heard = b""
        while True:
            try:
                more = self._socket.recv(65536)
            except ConnectionResetError:
                break
            if not more:
                break
            heard += more
        self._socket.close()
        return int(heard.split()[1]), heard.decode("latin-1")


def somebody(role: Role = Role.OPERATOR) -> User:
    user = User.objects.create_user(f"u{User.objects.count()}")
    Account.objects.update_or_create(user=user, defaults={"role": role})
    return User.objects.get(pk=user.pk)


def token(user: User, scope: Scope = Scope.OPERATE) -> str:
    return f"Authorization: Bearer {api_tokens.issue(user, 'robot', scope, timedelta(days=1))[1]}"


def cookie(user: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "pmweb.accounts.backend.Accounts"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return f"Cookie: sessionid-80={session.session_key}"


def refused_at_once(web: Web, length: int, *headers: str) -> str:
    """What is answered to a header alone, while the body is still to come."""
    visit = Visit(web)
    visit.head("/sets/upload/", f"Content-Length: {length}", *headers)
    status, text = visit.answer()
    assert status == 413, text
    return text


def refused_in_chunks(web: Web, size: int, *headers: str) -> str:
    visit = Visit(web)
    visit.head("/sets/upload/", "Transfer-Encoding: chunked", *headers)
    visit.chunks(size)
    status, text = visit.answer()
    assert status == 413, text
    return text


def test_of_a_visitor_little_is_taken_in(web: Web):
    assert "at most 9 MiB. Log in first." in refused_at_once(web, 10 * MIB)
    assert "at most 9 MiB" in refused_at_once(web, ANONYMOUS_BYTES + 1)
    assert "at most 9 MiB" in refused_in_chunks(web, 11 * MIB)
    assert "at most 12 MiB" in refused_at_once(web, 100 << 30)


def test_whoever_expects_to_be_told_to_go_on_is_not(web: Web):
    text = refused_at_once(web, 100 << 30, "Expect: 100-continue")
    assert "100 Continue" not in text


def test_a_made_up_cookie_or_token_does_not_help(web: Web):
    for made_up in (
        "Cookie: sessionid-80=abcdefghijklmnopqrstuvwxyz012345",
        "Authorization: Bearer pmwebapi_x",
    ):
        assert "Log in first" in refused_at_once(web, 10 * MIB, made_up)
        assert "Log in first" in refused_in_chunks(web, 11 * MIB, made_up)


def test_who_only_looks_sends_little(web: Web):
    viewer = somebody(Role.VIEWER)
    assert "permission to upload" in refused_at_once(web, 10 * MIB, token(viewer, Scope.READ))
    assert "permission to upload" in refused_at_once(web, 10 * MIB, cookie(viewer))


def test_an_operator_s_request_has_an_end_too(web: Web):
    shown = token(somebody())
    assert "at most 12 MiB here (PMWEB_REQUEST_MB)" in refused_at_once(web, MAX_MEMORY + 1, shown)
    assert "at most 12 MiB" in refused_in_chunks(web, 16 * MIB, shown)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_operator_s_file_arrives_whole(web: Web, chunked: bool):
    content = bytes(range(255, -1, -1) if chunked else range(256)) * (41 * MIB // 4 // 256)
    body = (
        f'--{BOUND}\r\nContent-Disposition: form-data; name="files"; filename="big.csv"\r\n\r\n'.encode()
        + content
        + f"\r\n--{BOUND}--\r\n".encode()
    )
    visit = Visit(web)
    visit.head(
        "/api/v1/uploads",
        token(somebody()),
        "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}",
        f"Content-Type: multipart/form-data; boundary={BOUND}",
        "Connection: close",
    )
    visit.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body)
    status, text = visit.answer()
    assert status == 201, text
    assert Upload.objects.filter(sha256=hashlib.sha256(content).hexdigest()).exists()


def test_chunks_are_no_way_around_the_length_of_a_document(web: Web):
    visit = Visit(web)
    document = ("Transfer-Encoding: chunked", "Content-Type: application/json", "Connection: close")
    visit.head("/api/v1/runs", token(somebody()), *document)
    visit.chunks(LONG_DOCUMENT)
    status, text = visit.answer()
    assert (status, "application/problem+json" in text) == (413, True), text


def test_a_session_is_asked_for_its_user(web: Web):
    visit = Visit(web)
    chunked = ("Transfer-Encoding: chunked", "Connection: close")
    visit.head("/api/v1/uploads", cookie(somebody()), *chunked, method="GET")
    visit.chunks(11 * MIB)
    status, text = visit.answer()
    assert status == 200, text


def test_forms_are_left_to_the_site(web: Web):
    visit = Visit(web)
    visit.head(
        "/api/v1/uploads",
        "Content-Length: 5",
        "Content-Type: multipart/form-data; boundary=x",
        "Connection: close",
    )
    visit.send(b"wrong")
    status, text = visit.answer()
    assert status == 401, text
    assert "application/problem+json" in text, "not an answer of the web server's own"


def test_a_header_does_not_move_the_site(web: Web):
    visit = Visit(web)
    visit.send(
        b"GET / HTTP/1.1\r\nHost: localhost\r\nDaphne-Root-Path: //evil.example\r\nConnection: close\r\n\r\n"
    )
    status, text = visit.answer()
    assert status == 302
    assert "Location: /login/" in text
    assert "evil" not in text


def test_a_header_does_not_move_the_sockets(web: Web):
    """Which would not be found below another beginning."""
    visit = Visit(web)
    visit.send(
        b"GET /ws/agent/ HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"
        b"Daphne-Root-Path: /x\r\n\r\n"
    )
    status, text = visit.answer()
    assert status == 401, text  # by the socket of agents, which wants a token
