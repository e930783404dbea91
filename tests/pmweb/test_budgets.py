"""Budgets of expensive requests: whom they stop, for how long, and whom they do not."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from inference.containment import METER, Limits, run
from pmweb import budgets, handler
from pmweb.budgets import Budgets, RouteCosts, route_of
from pmweb.callers import CALLER, Visitor, token_in
from pmweb.handler import Pages

WORKS = "GET works/<int:number>/"

AT_WORK: list[int] = [0, 0]
"""How many are at work, and the most that were."""


def _works(request: HttpRequest, number: int = 0, name: str = "") -> HttpResponse:
    """Keeps the processor for a while."""
    AT_WORK[0] += 1
    AT_WORK[1] = max(AT_WORK)
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass
    AT_WORK[0] -= 1
    return HttpResponse("done")


def _waits(request: HttpRequest) -> HttpResponse:
    time.sleep(0.3)  # what would be dear if it were computed
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
    path("named/<str:name>/", _works),
    path("api/v1/works/", _works),
    path("waits/", _waits),
    path("quick/", _quick),
    path("health/", _quick),
]


def as_ada(answer: Any) -> Any:
    """Middleware that finds out who it is."""

    def middleware(request: Any) -> HttpResponse:
        response = answer(request)
        name = token_in(request.headers.get("Authorization", ""))
        if name:
            request.scope[CALLER].proof = "token"
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
    headers = [(b"authorization", b"Bearer " + name.encode())] if name else []
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
    assert f"Try again in {headers['Retry-After']} s" in text
    assert (await asked(pages, "/quick/"))[0] == 200, "what is cheap goes on"
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
    assert AT_WORK[1] <= budgets.MAX_CONCURRENT
    health.cancel()


async def _health_times(pages: Pages) -> None:
    while True:
        assert (await asked(pages, "/health/"))[0] == 200
        await asyncio.sleep(0.05)


async def test_of_one_visitor_few_wait_at_a_time(pages: Pages) -> None:
    pages._costs.record(WORKS, 1.0)
    answers = await asyncio.gather(*(asked(pages, f"/works/{number}/") for number in range(30)))
    refused = [headers["Retry-After"] for status, headers, _ in answers if status == 429]
    assert len(refused) == 30 - budgets.MAX_PER_VISITOR
    assert set(refused) == {"1"}
    assert not pages._budgets.active, "all of them are over"


async def test_a_stream_that_is_expensive_to_begin_holds_up_no_other(pages: Pages) -> None:
    pages._costs.record("GET streams/", 1.0)
    scope = {"type": "http", "method": "GET", "path": "/streams/", "query_string": b"", "headers": []}
    visitor = ApplicationCommunicator(pages, scope)
    await visitor.send_input({"type": "http.request", "body": b""})
    assert (await visitor.receive_output(60))["status"] == 200
    assert (await visitor.receive_output(60))["body"] == b"more"
    pages._costs.record(WORKS, 1.0)
    assert (await asyncio.wait_for(asked(pages, "/works/1/"), 60))[0] == 200
    await visitor.send_input({"type": "http.disconnect"})
    await visitor.wait(60)


async def test_without_a_limit_nobody_is_refused(pages: Pages, settings: Any) -> None:
    settings.PROCESSOR_SECONDS = 0
    for number in range(12):
        assert (await asked(pages, f"/works/{number}/"))[0] == 200


def test_a_budget_fills_up_within_a_minute(settings: Any):
    settings.PROCESSOR_SECONDS, now = 30, [0.0]
    found, visitor = Budgets(lambda: now[0]), Visitor("ada")

    def wait(*, expensive: bool) -> int:
        return found.wait("GET", visitor, expensive=expensive)

    found.charge(visitor, 31.0, expensive=True)
    assert wait(expensive=True) == 2
    now[0] = 2.0
    assert wait(expensive=True) == 0
    found.charge(visitor, 1e9, expensive=True)
    assert (wait(expensive=True), wait(expensive=False)) == (15, 0), "cheap ones go on"
    found.charge(visitor, 1e9, expensive=False)
    assert (wait(expensive=True), wait(expensive=False)) == (60, 30), "nobody waits for ever"
    now[0] = 62.0
    assert wait(expensive=True) == 0


def test_a_route_that_has_become_cheap_is_so():
    costs = RouteCosts()
    costs.record("a set", 0.5)
    assert costs.is_expensive("a set")
    for _ in range(8):
        costs.record("a set", 0.01)
    assert not costs.is_expensive("a set")


SAME_ROUTE = [
    ("GET", "/works/7/"),
    ("GET", "/works/0007/"),
    ("get", "/works/7/"),
    ("HEAD", "/works/7/"),
]
ONE_NAME = [f"/named/{name}/" for name in ("a", "A", "  1", "%20", "a.", "\u00e9", "a;b=c", "..", "a" * 9000)]
NOWHERE = [
    *("/named//", "//works/7/", "/works//7/", "/works/7", "/works/7/.", "/works/7/../7/", "/works/7;a=b/"),
    *("/works/ 7/", "/Works/7/", "/works/7/ ", "/works/\u0667/", "\\works/7/"),
]


def test_a_route_has_one_cost_however_its_address_is_spelled(settings: Any):
    settings.ROOT_URLCONF = __name__
    assert {route_of({"method": method, "path": path}) for method, path in SAME_ROUTE} == {WORKS}
    assert {route_of({"method": "GET", "path": path}) for path in ONE_NAME} == {"GET named/<str:name>/"}
    assert {route_of({"method": "GET", "path": path}) for path in NOWHERE} == {"GET "}
    assert {route_of({"method": method, "path": "/works/7/"}) for method in ("FOO", "BAR", "X" * 99)} == {
        "other works/<int:number>/"
    }


async def test_addresses_with_names_of_their_own_are_refused_together(pages: Pages) -> None:
    statuses = [(await asked(pages, f"/named/{' ' * number}1/"))[0] for number in range(20)]
    assert statuses[-1] == 429, "each was charged, and none was the first of its kind"


async def test_many_cheap_requests_use_the_budget_up(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler._RequestSlot, "uncharged_seconds", lambda _: 0.02)
    statuses = [(await asked(pages, "/quick/"))[0] for _ in range(100)]
    assert statuses.index(429) in range(74, 78), "one and a half times a second"
    assert (await asked(pages, "/quick/", "198.51.100.2"))[0] == 200
    assert (await asked(pages, "/health/"))[0] == 200, "whether the site is well is told to everybody"


async def test_somebody_who_browses_or_polls_is_not_refused(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    pages = Pages()
    assert {(await asked(pages, "/quick/"))[0] for _ in range(500)} == {200}


@pytest.mark.parametrize("name", ["an operator", "a reader"])
async def test_no_method_s_spelling_makes_a_change_of_reading(pages: Pages, name: str) -> None:
    await until_refused(pages, name=name)
    assert (await asked(pages, "/works/1/", name=name, method="get"))[0] == 429
    assert (await asked(pages, "/works/1/", name=name, method="Head"))[0] == 429


def _starts_a_program(request: HttpRequest) -> HttpResponse:
    run((sys.executable, "-c", "sum(range(15_000_000))"), limits=Limits())
    return HttpResponse("done")


def _starts_one_in_a_thread(request: HttpRequest) -> HttpResponse:
    with ThreadPoolExecutor(1, initializer=METER.set, initargs=(METER.get(),)) as pool:
        return pool.submit(_starts_a_program, request).result()


@pytest.mark.parametrize("where", ["/program/", "/program-in-a-thread/"])
async def test_programs_that_a_request_starts_count(pages: Pages, where: str) -> None:
    statuses = [(await asked(pages, where))[0] for _ in range(30)]
    assert 429 in statuses
    assert pages._costs.is_expensive(f"GET {where[1:]}")


def _stream_of_numbers(request: HttpRequest) -> StreamingHttpResponse:
    def parts() -> Iterator[bytes]:
        _works(request)
        yield b"done"

    return StreamingHttpResponse(parts())


async def test_what_a_view_computes_while_it_streams_counts(pages: Pages) -> None:
    statuses = [(await asked(pages, "/numbers/"))[0] for _ in range(20)]
    assert 429 in statuses


async def test_a_request_is_charged_before_its_answer_is_read(pages: Pages) -> None:
    scope = {"type": "http", "method": "GET", "path": "/numbers/", "query_string": b"", "headers": []}
    visitor = ApplicationCommunicator(pages, {**scope, "client": ("198.51.100.1", 1)})
    await visitor.send_input({"type": "http.request", "body": b""})
    assert (await visitor.receive_output(60))["status"] == 200
    assert pages._budgets._used_seconds("198.51.100.1") >= 0.15
    await visitor.wait(60)


urlpatterns += [
    path("program/", _starts_a_program),
    path("program-in-a-thread/", _starts_one_in_a_thread),
    path("numbers/", _stream_of_numbers),
]
