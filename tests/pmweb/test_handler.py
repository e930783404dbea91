"""The handler of pages: one thread per request, which the next request has as well."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import path, reverse

from pmweb import handler
from pmweb.handler import Pages
from pmweb.middleware import no_body_for_head

FILE = bytes(range(256)) * 1000
TOGETHER = threading.Barrier(3, timeout=30)


def _thread(request: HttpRequest) -> HttpResponse:
    if "wait" in request.GET:
        TOGETHER.wait()
    return HttpResponse(f"{request.middleware_thread} {threading.get_ident()}")  # type: ignore[attr-defined]


def _stream(request: HttpRequest) -> HttpResponseBase:
    def parts() -> Iterator[str]:
        yield "from "
        yield str(threading.get_ident())

    return StreamingHttpResponse(parts())


def _fails(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("on purpose")


AT_WORK: set[int] = set()
TOLD: list[int] = []
"""How many were at work whenever one more began."""
PAIR = threading.Barrier(2, timeout=30)


def _counted(request: HttpRequest) -> HttpResponse:
    AT_WORK.add(threading.get_ident())
    TOLD.append(len(AT_WORK))
    PAIR.wait()  # a busy computer may begin the second one late
    time.sleep(0.02)  # long enough for a third one to begin, if it may
    AT_WORK.discard(threading.get_ident())
    return HttpResponse()


CLOSED = threading.Event()


def _endless(request: HttpRequest) -> HttpResponseBase:
    async def parts() -> AsyncIterator[str]:
        try:
            while True:
                yield "more"
                await asyncio.sleep(0.01)
        finally:
            CLOSED.set()

    return StreamingHttpResponse(parts())


def _told(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{request.path} {reverse(_told)} {len(request.body)}")


def _file(request: HttpRequest) -> FileResponse:
    return FileResponse(BytesIO(FILE))


def handler500(request: HttpRequest) -> HttpResponse:
    """Instead of the site's own page, which names addresses of the site."""
    return HttpResponse(status=500)


urlpatterns = [
    path("thread/", _thread),
    path("stream/", _stream),
    path("fails/", _fails),
    path("counted/", _counted),
    path("endless/", _endless),
    path("file/", _file),
    path("told/", _told),
]


def remembering(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        request.middleware_thread = threading.get_ident()
        return get_response(request)

    return middleware


@pytest.fixture
def pages(settings) -> Pages:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [f"{__name__}.remembering"]
    return Pages()


async def answered(pages: Pages, address: str, **more: Any) -> tuple[int, list[bytes]]:
    where, _, query = address.partition("?")
    scope = {"type": "http", "method": "GET", "path": where, "query_string": query.encode(), "headers": []}
    visitor = ApplicationCommunicator(pages, {**scope, **more})
    await visitor.send_input({"type": "http.request", "body": b""})
    begun = await visitor.receive_output(60)
    parts, more = [], True
    while more:
        part = await visitor.receive_output(60)
        parts.append(part.get("body", b""))
        more = part.get("more_body", False)
    await visitor.wait(60)
    return begun["status"], parts


async def asked(pages: Pages, address: str, **more: Any) -> tuple[int, str]:
    status, parts = await answered(pages, address, **more)
    return status, b"".join(parts).decode()


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
async def test_middleware_and_view_share_a_thread_that_the_next_request_has_as_well(pages: Pages) -> None:
    (status, first), (_, second) = await asked(pages, "/thread/"), await asked(pages, "/thread/")
    assert status == 200
    assert first == second
    assert len(set(first.split())) == 1
    assert await asked(pages, "/stream/") == (200, f"from {first.split()[0]}")


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
async def test_a_file_comes_in_few_pieces(pages: Pages) -> None:
    status, parts = await answered(pages, "/file/")
    assert status == 200
    assert b"".join(parts) == FILE
    assert len(parts) <= 1 + len(FILE) / 2**16 + 1


async def test_requests_at_a_time_have_a_thread_each_and_few_of_them_are_kept(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "IDLE_THREADS", 2)
    before = set(threading.enumerate())
    answers = await asyncio.gather(*(asked(pages, "/thread/?wait") for _ in range(3)))
    assert len({text for _, text in answers}) == 3
    for _ in range(100):
        left = set(threading.enumerate()) - before
        if len(left) == 2:
            return
        await asyncio.sleep(0.1)  # no thread that waits: it would be one of those that are counted
    pytest.fail(f"these are left: {left}")


async def test_where_the_site_begins_is_not_for_a_request_to_say(pages: Pages) -> None:
    assert await asked(pages, "/told/", root_path="/elsewhere") == (200, "/told/ /told/ 0")
    assert await asked(pages, "/told/", root_path="/told") == (200, "/told/ /told/ 0")


async def test_a_body_that_the_server_has_in_a_file_is_read_there(pages: Pages) -> None:
    body = BytesIO(FILE)
    assert await asked(pages, "/told/", **{handler.BODY: body}) == (200, f"/told/ /told/ {len(FILE)}")
    assert body.closed


async def test_few_are_answered_at_a_time(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "MAX_CONCURRENT", 2)
    monkeypatch.setattr(handler, "SLOT_SECONDS", 60.0)
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    few = Pages()
    answers = await asyncio.gather(*(asked(few, "/counted/") for _ in range(8)))
    assert {status for status, _ in answers} == {200}
    assert max(TOLD) == 2


async def test_slow_ones_hold_up_nobody(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "MAX_CONCURRENT", 1)
    monkeypatch.setattr(handler, "SLOT_SECONDS", 0.05)
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, [f"{__name__}.remembering"]
    one = Pages()
    answers = await asyncio.gather(*(asked(one, "/thread/?wait") for _ in range(3)))
    assert {status for status, _ in answers} == {200}, "each waits for the two others"


async def test_a_view_that_fails_costs_no_thread(pages: Pages, settings) -> None:
    _, before = await asked(pages, "/thread/")
    settings.DEBUG_PROPAGATE_EXCEPTIONS = False
    assert (await asked(pages, "/fails/"))[0] == 500
    assert await asked(pages, "/thread/") == (200, before)


async def test_a_stream_ends_when_its_visitor_leaves(pages: Pages) -> None:
    _, before = await asked(pages, "/thread/")
    scope = {"type": "http", "method": "GET", "path": "/endless/", "query_string": b"", "headers": []}
    visitor = ApplicationCommunicator(pages, scope)
    await visitor.send_input({"type": "http.request", "body": b""})
    assert (await visitor.receive_output(60))["status"] == 200
    assert (await visitor.receive_output(60))["body"] == b"more"
    assert not CLOSED.is_set()
    await visitor.send_input({"type": "http.disconnect"})
    await visitor.wait(60)
    assert CLOSED.is_set()
    assert await asked(pages, "/thread/") == (200, before), "its thread is there for others"


def _long(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(FILE * 8, headers={"X-Own": "1"}, status=201)
    response.set_cookie("a", "b")
    return response


urlpatterns.append(path("long/", _long))


class SlowReader:
    """Takes the head of an answer and nothing of its body."""

    def __init__(self, pages: Pages, address: str) -> None:
        scope = {"type": "http", "method": "GET", "path": address, "query_string": b"", "headers": []}
        self._said = iter([{"type": "http.request", "body": b""}])
        self.begun = asyncio.Event()
        self._task = asyncio.ensure_future(pages(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        for message in self._said:
            return message
        return await asyncio.Future()

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Future()
        self.begun.set()

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.mark.parametrize("address", ["/long/", "/file/", "/stream/", "/told/"])
async def test_whoever_reads_slowly_holds_neither_a_place_nor_a_thread(pages: Pages, address: str) -> None:
    pages._costs.record(f"GET {address[1:]}", 1.0)  # such as are answered one after the other
    readers = []
    for _ in range(3):
        readers.append(SlowReader(pages, address))
        await asyncio.wait_for(readers[-1].begun.wait(), 60)
    assert len(pages._idle) == 1, "one thread was enough"
    for reader in readers:
        await reader.leave()


async def test_a_long_answer_comes_whole_from_its_file(pages: Pages) -> None:
    status, parts = await answered(pages, "/long/")
    assert (status, b"".join(parts)) == (201, FILE * 8)
    assert max(map(len, parts)) <= handler.PIECE_BYTES


async def test_of_a_long_answer_all_but_its_body_is_the_same(pages: Pages) -> None:
    scope = {"type": "http", "method": "GET", "path": "/long/", "query_string": b"", "headers": []}
    visitor = ApplicationCommunicator(pages, scope)
    await visitor.send_input({"type": "http.request", "body": b""})
    begun = await visitor.receive_output(60)
    assert begun["status"] == 201
    assert {(b"X-Own", b"1"), (b"Set-Cookie", b"a=b; Path=/")} <= set(begun["headers"])
    await visitor.wait(60)


@pytest.mark.parametrize("view", [_long, _stream, _file, _endless])
def test_an_answer_to_head_has_no_body_whatever_kind_it_is(view: Any) -> None:
    request = HttpRequest()
    request.method = "HEAD"
    response: Any = no_body_for_head(view)(request)
    assert not getattr(response, "is_async", False)
    assert b"".join(response) == b""
