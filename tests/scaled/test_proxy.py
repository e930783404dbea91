"""nginx as `deploy/` configures it: no log has the secret of an address, and no body waits for its end."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.launched import wait_until
from tests.processes import Served
from tests.scaled.proxy import Nginx
from tests.secret_addresses import TOKEN, secret_addresses
from tests.servers import NotInstalledError, free_port

LARGE = 300 << 20
SENT = 4 << 20


def started(upstream: str) -> Nginx:
    """nginx before whatever answers there; a skipped test where it is not installed."""
    try:
        proxy = Nginx(upstream)
    except NotInstalledError as error:
        pytest.skip(str(error))
    proxy.start()
    return proxy


def ask(proxy: Nginx, head: str, body: bytes = b"", *, secure: bool = True) -> bytes:
    """The beginning of the answer to a request, which may be one that is not complete."""
    port = proxy.secure if secure else proxy.plain
    plain = socket.create_connection(("127.0.0.1", port), 30)
    connection = proxy.trust().wrap_socket(plain, server_hostname="localhost") if secure else plain
    with closing(connection):
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        connection.settimeout(30)
        for at in range(0, len(body), 1 << 16):
            try:
                connection.sendall(body[at : at + (1 << 16)])
            except (ConnectionError, ssl.SSLError):
                break  # refused in the midst of it
        return connection.recv(4096)


@pytest.fixture(scope="module")
def before_nobody() -> Iterator[Nginx]:
    """nginx before a port at which nobody listens, so that every request is a fault."""
    proxy = started(f"127.0.0.1:{free_port()}")
    yield proxy
    proxy.remove()


def spellings(address: str) -> Iterator[str]:
    yield address
    yield address.replace("/", "//", 1)
    yield f"/%{ord(address[1]):x}{address[2:]}"
    yield f"{address}?a=b"
    yield f"/login/?next={quote(address, safe='')}"
    yield f"/login/?next={address}"


@pytest.mark.parametrize("address", secret_addresses())
@pytest.mark.parametrize("secure", [True, False])
def test_no_log_of_nginx_has_the_token_of_an_address(before_nobody, address, secure):
    for number, path in enumerate(spellings(address)):
        head = f"GET {path} HTTP/1.1\nHost: localhost\nUser-Agent: {number}\nConnection: close"
        assert b" 50" in ask(before_nobody, head, secure=secure)[:15] or not secure
    head = "GET /marker HTTP/1.1\nHost: localhost\nConnection: close"
    ask(before_nobody, head)
    log = Path(before_nobody.directory) / "pmweb.log"
    wait_until(lambda: "/marker" in log.read_text(), 60, "the marker in the log")
    assert TOKEN not in before_nobody.log()
    assert "/marker" in (Path(before_nobody.directory) / "error.log").read_text(), "faults are still logged"


@pytest.fixture(scope="module")
def before_a_site(tmp_path_factory) -> Iterator[Nginx]:
    """nginx before a web process with the settings of production."""
    environment = {"PMWEB_TLS": "1", "PMWEB_SECRET_KEY": "k" * 60, "PMWEB_ALLOWED_HOSTS": "localhost"}
    served = Served(tmp_path_factory.mktemp("served"), "--port", "0", environment=environment)
    try:
        proxy = started(served.address().removeprefix("http://"))
        yield proxy
        proxy.remove()
    finally:
        served.stop()


@pytest.mark.parametrize("path", ["/upload/", "/api/v1/uploads", "/login/", "/isas/load/"])
def test_the_site_refuses_a_large_body_by_its_head_and_nginx_keeps_nothing_of_it(before_a_site, path):
    head = f"POST {path} HTTP/1.1\nHost: localhost\nContent-Type: text/plain\nContent-Length: {LARGE}"
    answer = ask(before_a_site, head, b"a" * SENT)  # and never the rest
    assert answer.startswith(b"HTTP/1.1 413 "), answer
    assert b"Log in first" in answer
    bodies = Path(before_a_site.directory) / "body"
    assert not [path for path in bodies.rglob("*") if path.is_file()]


def test_what_is_too_large_for_everybody_is_refused_by_nginx_itself(before_a_site):
    head = f"POST /upload/ HTTP/1.1\nHost: localhost\nContent-Length: {600 << 20}"
    assert ask(before_a_site, head).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_may_come_in_still_arrives(before_a_site):
    body = b"a" * (1 << 20)
    head = f"POST /login/ HTTP/1.1\nHost: localhost\nContent-Length: {len(body)}"
    assert ask(before_a_site, head, body).startswith(b"HTTP/1.1 403 "), "without a CSRF token"
