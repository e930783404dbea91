"""The way in for WebSockets: only this site's own pages, only with a session."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa
from pmweb.asgi import application
from tests.listening import SOON, is_open
from tests.runs.fixtures import forget_connection
from tests.runs.machines.answering import hello

pytestmark = pytest.mark.django_db(transaction=True)
OWN = b"http://localhost:8000"


async def is_let_in(origin: bytes | None, cookie: str = "", doubt: float = 0.3) -> bool:
    """Whether a socket opens and stays open for so many seconds; a refusal is seen as soon as it comes."""
    headers = [(b"host", b"localhost:8000"), (b"cookie", cookie.encode())]
    if origin is not None:
        headers.append((b"origin", origin))
    socket = WebsocketCommunicator(application, "/ws/runs/", headers=headers)
    connected, _ = await socket.connect(timeout=SOON)
    if connected:
        # A consumer that refuses says so in a close code, which a browser can only see after the handshake.
        connected = await is_open(socket, doubt)
    await socket.disconnect(timeout=SOON)
    return connected


@pytest.fixture(autouse=True)
async def fresh_connection() -> None:
    """The thread of async database calls may have been left with the database of another test."""
    await sync_to_async(forget_connection)()


@pytest.fixture
async def cookie(administrator: User) -> str:
    """The cookie of a session."""
    client = Client()
    await database_sync_to_async(client.force_login)(administrator)
    return f"{settings.SESSION_COOKIE_NAME}-8000={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def test_a_page_of_this_site_with_a_session_is_let_in(cookie: str):
    assert await is_let_in(OWN, cookie)


async def test_without_a_session_nobody_is(administrator: User):
    assert not await is_let_in(OWN, doubt=20)


@pytest.mark.parametrize("origin", [b"http://evil.example", b"http://localhost.evil.example", b"null", None])
async def test_a_page_of_another_site_is_not_even_with_the_session(cookie: str, origin: bytes | None):
    assert not await is_let_in(origin, cookie)


async def test_an_agent_needs_a_token_and_neither_origin_nor_session():
    plain = await database_sync_to_async(_token)()
    headers = [(b"host", b"192.0.2.1:8000"), (b"authorization", f"Bearer {plain}".encode())]
    socket = WebsocketCommunicator(application, "/ws/agent/", headers=headers)
    assert (await socket.connect(timeout=SOON))[0]
    await socket.send_to(text_data=hello())
    assert (await socket.receive_json_from(timeout=SOON))["type"] == "welcome"
    await socket.disconnect(timeout=SOON)


def _token() -> str:
    return sessions.create_token(sessions.add_machine("lab", new_isa("toy", ["add R, R"], "by hand")))
