"""Budgets of expensive requests: whom they stop, for how long, and whom they do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client
from django.urls import path

from pmweb import budgets
from pmweb.accounts import api_tokens, people
from pmweb.accounts.telling import telling_caller
from pmweb.budgets import Budgets, Costs, Visitor, Visitors
from pmweb.callers import CALLER, ConnectionCaller
from pmweb.handler import Pages
from pmweb.models import Role, Scope

AT_WORK: list[int] = [0, 0]
"""How many are at work, and the most that were."""


def _works(request: HttpRequest, number: int = 0) -> HttpResponse:
    """Keeps the processor for a while."""
    AT_WORK[0] += 1
    AT_WORK[1] = max(AT_WORK)
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass
    AT_WORK[0] -= 1
    return HttpResponse("done")


def _waits(request: HttpRequest) -> HttpResponse:
    time.sleep(0.3)
    return HttpResponse("done")


def _quick(request: HttpRequest) -> HttpResponse:
    return HttpResponse("done")


def _streams(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[str]:
        while True:
            yield "more"
            await asyncio.sleep(0.01)

    _works(request)
    return StreamingHttpResponse(parts())


urlpatterns = [
    path("streams/", _streams),
    path("works/<int:number>/", _works),
    path("api/v1/works/", _works),
    path("waits/", _waits),
    path("quick/", _quick),
    path("health/", _quick),
]


def as_ada(answer: Any) -> Any:
    """Middleware that finds out who it is."""

    def middleware(request: Any) -> HttpResponse:
        response = answer(request)
        name = request.headers.get("Authorization", "")
        if name:
            request.scope[CALLER].asked = True
            request.scope[CALLER].account = hash(name)
            request.scope[CALLER].may_change = "operator" in name
        return response

    return middleware


@pytest.fixture
def pages(settings: Any) -> Pages:
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, [f"{__name__}.as_ada"]
    settings.PROCESSOR_SECONDS = 1
    AT_WORK[:] = [0, 0]
    pages = Pages()
    pages._budgets = Budgets(lambda: 0.0)  # on a busy computer budgets would fill up between two requests
    return pages


async def asked(
    pages: Pages, address: str, client: str = "198.51.100.1", name: str = "", method: str = "GET"
) -> tuple[int, dict[str, str], str]:
    headers = [(b"authorization", name.encode())] if name else []
    scope = {
        "type": "http",
        "method": method,
        "path": address,
        "query_string": b"",
        "headers": headers,
        "client": (client, 1),
    }
    visitor = ApplicationCommunicator(pages, scope)
    await visitor.send_input({"type": "http.request", "body": b""})
    begun = await visitor.receive_output(60)
    body = (await visitor.receive_output(60)).get("body", b"").decode()
    await visitor.wait(60)
    return begun["status"], {k.decode(): v.decode() for k, v in begun["headers"]}, body


async def until_refused(pages: Pages, **visitor: str) -> tuple[int, dict[str, str], str]:
    """Ask for what is expensive, each time by another number, until the budget is used up."""
    for number in range(40):
        answer = await asked(pages, f"/works/{number}/", **visitor)
        if answer[0] != 200:
            return answer
    raise AssertionError("nobody was ever refused")


async def test_whoever_has_used_up_the_budget_has_to_wait_and_others_do_not(pages: Pages) -> None:
    status, headers, text = await until_refused(pages)
    assert status == 429
    assert 1 <= int(headers["Retry-After"]) <= 60
    assert f"Ask again in {headers['Retry-After']} s" in text
    assert (await asked(pages, "/quick/"))[0] == 200, "what is cheap has no budget"
    assert (await asked(pages, "/works/1/", "198.51.100.2"))[0] == 200


async def test_programs_get_a_problem(pages: Pages) -> None:
    await until_refused(pages)
    await asked(pages, "/api/v1/works/", "198.51.100.3")
    status, headers, text = await asked(pages, "/api/v1/works/")
    assert (status, headers["Content-Type"]) == (429, "application/problem+json")
    assert '"status": 429' in text


async def test_addresses_of_one_network_and_sessions_of_one_person_have_one_budget(pages: Pages) -> None:
    await until_refused(pages, client="2001:db8:1:2::1")
    assert (await asked(pages, "/works/1/", "2001:db8:1:2::99"))[0] == 429
    assert (await asked(pages, "/works/1/", "2001:db8:1:3::1"))[0] == 200

    assert (await until_refused(pages, client="203.0.113.1", name="ada"))[0] == 429
    assert (await asked(pages, "/works/1/", "203.0.113.2", name="ada"))[0] == 429
    assert (await asked(pages, "/works/1/", "203.0.113.1", name="bob"))[0] == 200


async def test_tokens_that_are_made_up_have_no_budgets_of_their_own(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.MIDDLEWARE, settings.PROCESSOR_SECONDS = __name__, [], 1
    pages = Pages()
    answers = [await asked(pages, "/works/1/", name=f"guess {number}") for number in range(20)]
    assert 429 in {status for status, *_ in answers}


async def test_whoever_may_change_things_is_refused_reading_alone(pages: Pages) -> None:
    await until_refused(pages, name="an operator")
    await asked(pages, "/works/1/", "203.0.113.9", method="POST")
    await asked(pages, "/works/1/", "203.0.113.9", method="POST")
    assert (await asked(pages, "/works/1/", name="an operator", method="POST"))[0] == 200
    assert (await asked(pages, "/works/1/", name="an operator"))[0] == 429


async def test_slow_ones_that_only_wait_are_not_expensive(pages: Pages) -> None:
    answers = await asyncio.gather(*(asked(pages, "/waits/") for _ in range(12)))
    assert {status for status, *_ in answers} == {200}


async def test_expensive_ones_are_answered_few_at_a_time_from_however_many_addresses(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asked(pages, "/works/1/")
    AT_WORK[:] = [0, 0]
    many = [asked(pages, f"/works/{number}/", f"203.0.113.{number}") for number in range(12)]
    health = asyncio.create_task(_health_times(pages))
    answers = await asyncio.gather(*many)
    assert {status for status, *_ in answers} == {200}
    assert AT_WORK[1] <= budgets.AT_ONCE
    health.cancel()


async def _health_times(pages: Pages) -> None:
    while True:
        assert (await asked(pages, "/health/"))[0] == 200
        await asyncio.sleep(0.05)


async def test_of_one_visitor_few_wait_at_a_time(pages: Pages) -> None:
    pages._costs.note({"method": "GET", "path": "/works/1/"}, 1.0)
    answers = await asyncio.gather(*(asked(pages, f"/works/{number}/") for number in range(30)))
    refused = [headers["Retry-After"] for status, headers, _ in answers if status == 429]
    assert len(refused) == 30 - budgets.OF_ONE
    assert set(refused) == {"1"}
    assert not pages._budgets.at_once, "all of them are over"


async def test_a_stream_that_is_expensive_to_begin_holds_up_no_other(pages: Pages) -> None:
    pages._costs.note({"method": "GET", "path": "/streams/"}, 1.0)
    scope = {"type": "http", "method": "GET", "path": "/streams/", "query_string": b"", "headers": []}
    visitor = ApplicationCommunicator(pages, scope)
    await visitor.send_input({"type": "http.request", "body": b""})
    assert (await visitor.receive_output(10))["status"] == 200
    assert (await visitor.receive_output(10))["body"] == b"more"
    pages._costs.note({"method": "GET", "path": "/works/1/"}, 1.0)
    assert (await asyncio.wait_for(asked(pages, "/works/1/"), 10))[0] == 200
    await visitor.send_input({"type": "http.disconnect"})
    await visitor.wait(10)


async def test_without_a_limit_nobody_is_refused(pages: Pages, settings: Any) -> None:
    settings.PROCESSOR_SECONDS = 0
    for number in range(12):
        assert (await asked(pages, f"/works/{number}/"))[0] == 200


def test_a_budget_fills_up_within_a_minute(settings: Any):
    settings.PROCESSOR_SECONDS, now = 30, [0.0]
    found, visitor, scope = Budgets(lambda: now[0]), Visitor("ada"), {"method": "GET"}
    found.spend(visitor, 31.0)
    assert found.wait(scope, visitor) == 2
    now[0] = 2.0
    assert found.wait(scope, visitor) == 0
    found.spend(visitor, 1e9)
    assert found.wait(scope, visitor) == 60, "nobody waits for ever"
    now[0] = 62.0
    assert found.wait(scope, visitor) == 0


def test_an_address_that_has_become_cheap_is_so():
    costs, scope = Costs(), {"method": "GET", "path": "/sets/7/"}
    costs.note(scope, 0.5)
    assert costs.is_expensive({"method": "GET", "path": "/sets/8/"})
    for _ in range(8):
        costs.note(scope, 0.01)
    assert not costs.is_expensive(scope)


@pytest.mark.django_db
def test_who_a_request_is_from_is_told_by_session_and_token():
    ada, _ = people.invite("ada", Role.OPERATOR)
    client = Client()
    client.force_login(ada)
    _, plain = api_tokens.issue(ada, "", Scope.READ, None)
    token = {"Authorization": f"Bearer {plain}"}
    found = []
    for browser, headers, where in (
        (client, {}, "/runs/"),
        (Client(), token, "/api/v1/isas"),
        (Client(), {}, "/health/"),
    ):
        caller = ConnectionCaller()
        response = browser.get(where, headers=headers)
        request = response.wsgi_request
        request.scope = {CALLER: caller}
        telling_caller(lambda _, response=response: response)(request)
        found.append((caller.asked, caller.account, caller.may_change))
    assert found == [(True, ada.pk, True), (True, ada.pk, False), (True, None, False)]


def test_sessions_and_tokens_are_remembered_by_digests_alone():
    visitors, scope = (
        Visitors(),
        {"headers": [(b"cookie", b"a=b; sessionid=secret")], "client": ("1.2.3.4", 1)},
    )
    assert visitors.of(scope).key == "1.2.3.4"
    visitors.learn(scope, ConnectionCaller(True, "ada", 7, may_change=True))
    visitors.learn(scope, ConnectionCaller())  # a file, for which nobody asks who wants it
    assert visitors.of(scope) == Visitor("account 7", may_change=True)
    assert b"secret" not in b"".join(visitors._known)
    visitors.learn(scope, ConnectionCaller(asked=True))
    assert visitors.of(scope).key == "1.2.3.4", "the session has ended"
