"""Asking whether a site answers, against small servers that behave and misbehave."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from pmweb.launcher.address import FirstAnswer, find_site
from tests.launched import wait_until

GOOD = b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"product": "pmweb", "version": "9.9"}'


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


def answer(server: socket.socket, *replies: bytes) -> threading.Thread:
    """Answer one connection after the other with these bytes."""

    def serve() -> None:
        for reply in replies:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_pmweb_is_recognised_by_its_answer(server):
    thread = answer(server, GOOD)
    assert find_site(*server.getsockname()) == "9.9"
    thread.join()


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\n\r\n[1]",
        b'HTTP/1.0 200 OK\r\n\r\n{"product": "other"}',
        b'HTTP/1.0 503 No\r\n\r\n{"product": "pmweb"}',
    ],
)
def test_anything_else_is_not(server, reply):
    thread = answer(server, reply)
    assert find_site(*server.getsockname()) is None
    thread.join()


def test_nobody_listening_is_no_site(server):
    address = server.getsockname()
    server.close()
    assert find_site(*address) is None


def test_one_request_waits_until_somebody_answers(server):
    first = FirstAnswer(*server.getsockname())
    assert not first.is_ready()
    assert not first.is_ready()
    thread = answer(server, GOOD)
    wait_until(first.is_ready, 60, "the answer")
    thread.join()
    server.settimeout(0.1)
    with pytest.raises(TimeoutError):
        server.accept()


def test_a_broken_connection_or_a_bad_answer_is_followed_by_another_request(server):
    thread = answer(server, b"", b"HTTP/1.0 500 Oops\r\n\r\n", GOOD)
    first = FirstAnswer(*server.getsockname())
    wait_until(first.is_ready, 60, "the third answer")
    thread.join()


def test_nobody_listening_yet_is_no_answer_yet(server):
    address = server.getsockname()
    server.close()
    assert not FirstAnswer(*address).is_ready()
