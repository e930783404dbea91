"""The way in for WebSockets: only this site's own pages, only with a session."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from pmweb.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)
OWN = b"http://localhost:8000"


async def is_let_in(origin: bytes | None, cookie: str = "") -> bool:
    headers = [(b"host", b"localhost:8000"), (b"cookie", cookie.encode())]
    if origin is not None:
        headers.append((b"origin", origin))
    socket = WebsocketCommunicator(application, "/ws/runs/", headers=headers)
    connected, _ = await socket.connect(timeout=10)
    if connected:
        # A consumer that refuses says so in a close code, which a browser can only see after the handshake.
        connected = await socket.receive_nothing(timeout=0.3)
    await socket.disconnect()
    return connected


@pytest.fixture
async def cookie(administrator: User) -> str:
    """The cookie of a session."""
    client = Client()
    await database_sync_to_async(client.force_login)(administrator)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def test_a_page_of_this_site_with_a_session_is_let_in(cookie: str):
    assert await is_let_in(OWN, cookie)


async def test_without_a_session_nobody_is(administrator: User):
    assert not await is_let_in(OWN)


@pytest.mark.parametrize("origin", [b"http://evil.example", b"http://localhost.evil.example", b"null", None])
async def test_a_page_of_another_site_is_not_even_with_the_session(cookie: str, origin: bytes | None):
    assert not await is_let_in(origin, cookie)
