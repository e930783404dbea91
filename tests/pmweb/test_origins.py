"""A page of another site, or of another port of this host, opens no WebSocket with a visitor's cookies."""

from __future__ import annotations

from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from pmweb.origins import SameOriginOnly, origin_in


async def accepting(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})


async def is_let_in(origin: str, host: str = "localhost:8000", **headers: str) -> bool:
    sent = {
        "host": host,
        "origin": origin,
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    socket = WebsocketCommunicator(
        SameOriginOnly(accepting), "/ws/runs/", headers=[(a.encode(), b.encode()) for a, b in sent.items()]
    )
    connected, _ = await socket.connect(timeout=60)
    return connected


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://LOCALHOST:8000", "localhost:8000"),
        ("http://localhost", "localhost:80"),
        ("http://127.0.0.1:8001", "127.0.0.1:8001"),  # as through a tunnel
        ("http://[::1]:8000", "[::1]:8000"),
    ],
)
async def test_the_sites_own_page_is_let_in(origin: str, host: str) -> None:
    assert await is_let_in(origin, host)


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:9999",  # of another user of the same host
        "http://localhost",
        "https://localhost:8000",
        "http://127.0.0.1:8000",
        "http://localhost.evil.example:8000",
        "http://evil.example",
        "ws://localhost:8000",
        "file://localhost:8000",
        "http://localhost:99999",
        "http://localhost:8000@evil.example",
        "null",
        "",
    ],
)
async def test_a_page_of_another_scheme_host_or_port_is_refused(origin: str) -> None:
    assert not await is_let_in(origin)


async def test_a_name_that_was_made_to_point_here_is_refused() -> None:
    assert not await is_let_in("http://rebound.evil.example:8000", "rebound.evil.example:8000")


async def test_behind_a_proxy_with_tls_its_scheme_and_port_count(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["pmweb.example.org"]
    own, name = "https://pmweb.example.org", "pmweb.example.org"
    assert not await is_let_in(own, name, x_forwarded_proto="https"), "nobody is believed without PMWEB_TLS"
    settings.TLS = True
    assert await is_let_in(own, name, x_forwarded_proto="https")
    assert await is_let_in(f"{own}:8443", f"{name}:8443", x_forwarded_proto="https")
    assert not await is_let_in(f"{own}:8443", name, x_forwarded_proto="https")
    assert not await is_let_in(f"http://{name}", name, x_forwarded_proto="https")


async def test_origins_that_are_trusted_for_forms_are_for_sockets(settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://pmweb.example.org", "https://*.lab.example:8443"]
    assert await is_let_in("https://pmweb.example.org")
    assert await is_let_in("https://a.lab.example:8443")
    for other in ("http://pmweb.example.org", "https://pmweb.example.org:444", "https://a.pmweb.example.org"):
        assert not await is_let_in(other)
    for other in ("https://a.lab.example", "https://evil-lab.example:8443"):
        assert not await is_let_in(other)


def test_an_origin_is_read_with_the_port_that_its_scheme_implies() -> None:
    assert origin_in("https://a.example") == ("https", "a.example", 443)
    assert origin_in("http://a.example:80/path") == ("http", "a.example", 80)
    assert origin_in("//a.example") is origin_in("http://[::1") is origin_in("http://") is None
