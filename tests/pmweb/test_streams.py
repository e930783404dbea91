"""Streams of the API end with the token or session that opened them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import AsyncClient
from django.urls import reverse
from django.utils import timezone

from inference.features.running.runs import events_api
from inference.models import Run
from inference.runs import lifecycle, watcher
from inference.runs.kinds import RUN_KINDS
from pmweb.accounts import api_tokens, people, watching
from pmweb.handler import Pages
from pmweb.models import ApiToken, Role, Scope
from tests.listening import SOON
from tests.runs.counting.job import COUNTING
from tests.runs.fixtures import forget_connection

Caller = tuple[AsyncClient, dict[str, str]]
"""With the headers that it sends."""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def fresh_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of async database calls may have been left with the database of another test."""
    monkeypatch.setattr(watching, "POLL_INTERVAL", 0.05)
    monkeypatch.setitem(RUN_KINDS, "count", COUNTING)
    await sync_to_async(forget_connection)()


@sync_to_async
def somebody(name: str = "ada") -> tuple[User, Caller, Caller]:
    """A user, with a program and a browser of theirs."""
    user, _ = people.invite(name, Role.OPERATOR)
    _, plain = api_tokens.issue(user, "a script", Scope.READ, None)
    browser = AsyncClient()
    browser.force_login(user)
    return user, (AsyncClient(), {"Authorization": f"Bearer {plain}"}), (browser, {})


async def stream_of(caller: Caller, run: Run) -> AsyncIterator[bytes]:
    client, headers = caller
    path = f"/api/v1/runs/{run.pk}/events"
    response: Any = await client.get(path, headers={"Accept": "text/event-stream", **headers})
    assert response.status_code == 200
    return response.streaming_content.__aiter__()


async def rest_of(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in stream])


async def goes_on(stream: AsyncIterator[bytes]) -> bool:
    """Whether nothing comes, and no end either, for several looks."""
    rest = asyncio.ensure_future(rest_of(stream))
    done, _ = await asyncio.wait({rest}, timeout=0.5)  # several looks: nothing may end it
    rest.cancel()
    return not done


def revoke(user: User) -> None:
    api_tokens.revoke(ApiToken.objects.filter(user=user))


def let_it_expire(user: User) -> None:
    ApiToken.objects.filter(user=user).update(expires=timezone.now() - timedelta(seconds=1))


def shut_out(user: User) -> None:
    people.deactivate(user)


def delete(user: User) -> None:
    user.delete()


def set_another_password(user: User) -> None:
    user.set_password("seven blue horses")
    user.save()


def end_the_session(user: User) -> None:
    Session.objects.all().delete()


@pytest.mark.parametrize("end", [revoke, let_it_expire, shut_out, delete])
async def test_a_stream_ends_with_the_token_that_opened_it(end: Callable[[User], None]) -> None:
    run = await Run.objects.acreate(name="a run", kind="infer")
    user, program, _ = await somebody()
    stream = await stream_of(program, run)
    going = asyncio.ensure_future(rest_of(stream))
    await asyncio.wait({going}, timeout=0.2)  # nothing ends it yet
    assert not going.done()
    await sync_to_async(end)(user)
    assert b"event: end" not in await asyncio.wait_for(going, SOON)
    assert not watching.shared_visits()._open
    assert not watcher.shared_watcher()._subscriptions


@pytest.mark.parametrize("end", [end_the_session, set_another_password, shut_out])
async def test_a_stream_ends_with_the_session_that_opened_it(end: Callable[[User], None]) -> None:
    run = await Run.objects.acreate(name="a run", kind="infer")
    user, _, browser = await somebody()
    going = asyncio.ensure_future(rest_of(await stream_of(browser, run)))
    await asyncio.wait({going}, timeout=0.2)  # nothing ends it yet
    assert not going.done()
    await sync_to_async(end)(user)
    await asyncio.wait_for(going, SOON)


async def test_a_stream_ends_with_logging_out() -> None:
    run = await Run.objects.acreate(name="a run", kind="infer")
    _, _, browser = await somebody()
    going = asyncio.ensure_future(rest_of(await stream_of(browser, run)))
    await browser[0].post(reverse("logout"))
    await asyncio.wait_for(going, SOON)


async def test_the_streams_of_others_and_of_other_ways_in_go_on(settings: Any) -> None:
    settings.PUBLIC_READING = True
    run = await Run.objects.acreate(name="a run", kind="infer")
    user, _, browser = await somebody()
    _, others_program, _ = await somebody("grace")
    streams = [await stream_of(caller, run) for caller in (browser, others_program, (AsyncClient(), {}))]
    await sync_to_async(revoke)(user)
    assert all(await asyncio.gather(*map(goes_on, streams)))


async def test_of_what_is_read_already_nothing_is_told_when_it_is_over() -> None:
    run = await sync_to_async(lambda: lifecycle.submit("count", {}, "a run"))()
    await sync_to_async(lifecycle.cancel)(run)
    user, program, _ = await somebody()
    stream = await stream_of(program, run)
    assert b'"queued"' in await anext(stream)
    await sync_to_async(revoke)(user)
    (visit,) = watching.shared_visits()._open
    await asyncio.wait_for(visit.ended.wait(), SOON)
    assert await rest_of(stream) == b""


def cancel_the_run(_: User) -> None:
    lifecycle.cancel(Run.objects.get())


@pytest.mark.parametrize("end", [revoke, cancel_the_run])
async def test_a_stream_is_watched_on_when_the_first_one_has_left(
    end: Callable[[User], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the process that serves pages, where each request has a thread of its own."""
    monkeypatch.setattr(events_api, "KEEP_ALIVE", 2 * SOON)  # it has to be told
    run = await sync_to_async(lambda: lifecycle.submit("count", {}, "a run"))()
    (_, first), (second, its_own) = [(await somebody(name))[:2] for name in ("ada", "grace")]
    pages = Pages()
    visitors = []
    for _, headers in (first, its_own):
        visitor = ApplicationCommunicator(pages, scope_of(run, headers))
        await visitor.send_input({"type": "http.request", "body": b""})
        assert (await visitor.receive_output(SOON))["status"] == 200
        visitors.append(visitor)
    while len(watching.shared_visits()._open) < len(visitors):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)  # both shall have read all there is, and wait to be told more
    await visitors[0].send_input({"type": "http.disconnect"})
    # Not `visitor.wait`, which ends what goes on for longer, and says nothing.
    await asyncio.wait_for(visitors[0].future, SOON)
    assert len(watching.shared_visits()._open) == 1
    await sync_to_async(end)(second)
    await asyncio.wait_for(visitors[1].future, SOON)
    assert not watching.shared_visits()._open


def scope_of(run: Run, headers: dict[str, str]) -> dict[str, Any]:
    sent = {"host": "localhost", "accept": "text/event-stream", **headers}
    pairs = [(key.lower().encode(), value.encode()) for key, value in sent.items()]
    path = f"/api/v1/runs/{run.pk}/events"
    return {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": pairs}
