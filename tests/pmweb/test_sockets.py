"""WebSockets obey the rules of their addresses, when they are opened and as long as they are open."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib import import_module

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings as settings_of_the_site
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa
from pmweb.accounts import people, watching
from pmweb.asgi import application
from pmweb.models import Role
from tests.listening import SOON, closing_code, is_open
from tests.runs.fixtures import forget_connection

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def fresh_connection(monkeypatch) -> None:
    """The thread of async database calls may have been left with the database of another test."""
    monkeypatch.setattr(watching, "POLL_INTERVAL", 0.05)
    await sync_to_async(forget_connection)()


@sync_to_async
def logged_in(role: Role = Role.VIEWER) -> tuple[User, Client]:
    user, _ = people.invite(f"a {role.value}", role)
    client = Client()
    client.force_login(user)
    return user, client


def communicator(client: Client, path: str = "/ws/runs/", **headers: str) -> WebsocketCommunicator:
    cookies = "; ".join(f"{key}-8000={morsel.value}" for key, morsel in client.cookies.items())
    sent = {"host": "localhost:8000", "origin": "http://localhost:8000", "cookie": cookies, **headers}
    return WebsocketCommunicator(
        application, path, headers=[(key.encode(), value.encode()) for key, value in sent.items()]
    )


@asynccontextmanager
async def socket_of(client: Client, path: str = "/ws/runs/", **headers: str):
    socket = communicator(client, path, **headers)
    assert (await socket.connect(timeout=SOON))[0]
    try:
        yield socket
    finally:
        await socket.disconnect(timeout=SOON)


async def test_a_viewer_listens():
    _, client = await logged_in()
    async with socket_of(client) as socket:
        assert await is_open(socket)


@pytest.mark.parametrize("path", ["/ws/runs/", "/ws/runs/1/", "/ws/nothing/"])
async def test_without_a_session_a_socket_is_refused_with_the_reason(path: str):
    async with socket_of(Client(), path) as socket:
        assert await closing_code(socket) == 4401


async def test_with_public_reading_a_visitor_listens(settings):
    settings.PUBLIC_READING = True
    async with socket_of(Client()) as socket:
        assert await is_open(socket)


async def test_of_one_person_there_are_few_and_of_another_as_many(settings):
    settings.SOCKETS_PER_PERSON = 2
    _, ada = await logged_in()
    _, bob = await logged_in(Role.OPERATOR)
    async with (
        socket_of(ada) as first,
        socket_of(ada) as second,
        socket_of(ada) as one_more,
        socket_of(bob) as of_another,
    ):
        assert await closing_code(one_more) == 4429
        assert all([await is_open(socket) for socket in (first, second, of_another)])
    async with socket_of(ada) as again:
        assert await is_open(again)


async def test_of_visitors_at_one_address_there_are_few_too(settings):
    settings.PUBLIC_READING, settings.SOCKETS_PER_PERSON = True, 1
    async with socket_of(Client()), socket_of(Client()) as one_more:
        assert await closing_code(one_more) == 4429
    settings.SOCKETS_PER_PERSON = 0
    async with socket_of(Client()), socket_of(Client()) as one_more:
        assert await is_open(one_more)


async def log_out(user: User, client: Client) -> None:
    await sync_to_async(client.post)(reverse("logout"))


async def shut_out(user: User, client: Client) -> None:
    await sync_to_async(people.deactivate)(user)


async def set_another_password(user: User, client: Client) -> None:
    user.set_password("seven blue horses")
    await user.asave()


async def let_the_session_end(user: User, client: Client) -> None:
    await Session.objects.all().adelete()


@pytest.mark.parametrize("end", [log_out, shut_out, set_another_password, let_the_session_end])
async def test_a_socket_ends_with_the_session_that_opened_it(end):
    user, client = await logged_in()
    _, elsewhere = await logged_in(Role.OPERATOR)
    async with socket_of(client) as socket, socket_of(elsewhere) as unconcerned:
        assert await is_open(socket, 0.1)
        await end(user, client)
        assert await closing_code(socket) == 4401
        if end is not let_the_session_end:
            assert await is_open(unconcerned)


async def test_nothing_is_watched_when_nobody_listens():
    _, client = await logged_in()
    async with socket_of(client):
        assert len(watching.shared_visits()._open) == 1
    assert not watching.shared_visits()._open


async def test_an_agents_token_does_not_open_the_sockets_of_browsers():
    plain = await sync_to_async(_token)()
    async with socket_of(Client(), authorization=f"Bearer {plain}") as socket:
        assert await closing_code(socket) == 4401


async def test_a_browsers_session_does_not_open_the_socket_of_agents():
    _, client = await logged_in(Role.ADMIN)
    assert await communicator(client, "/ws/agent/").connect(timeout=SOON) == (False, 4401)


def _token() -> str:
    return sessions.create_token(sessions.add_machine("lab", new_isa("toy", ["add R, R"], "by hand")))


def test_sessions_are_kept_in_the_table_that_is_looked_into():
    engine = import_module(settings_of_the_site.SESSION_ENGINE)
    assert engine.SessionStore.get_model_class() is Session
