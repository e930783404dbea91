"""Pages over ASGI: each request in one thread, few at a time, and threads that are kept for those after it.

Every view here is synchronous. Django's own handler changes to the event loop and back between the middleware
and the view, and starts two threads for every request, one of which ends the other. Together that costs more
than many a view does. And where many come at once, each in a thread of its own, a page takes half as much
again of the processor: one after the other they all have their answer sooner.

Requests that are expensive wait for each other in a line of their own, as far as their budget lets them
(`budgets`); whether the site is well is told without waiting. An answer is sent when its place is left and
its cost is counted: nobody waits for those who read slowly. What a view has computed is in a file as soon as
it is long, and is read from there piece by piece, as the visitor takes it: the view, its thread and its
connection to the database are done with the request.
"""

from __future__ import annotations

import asyncio
import io
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.core.signals import request_started
from django.db import connections
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from inference.containment import ProgramMeter, metered
from inference.web.api.errors import Flaw, answer
from pmweb import budgets
from pmweb.budgets import Budgets, Costs, route_of
from pmweb.callers import CALLER, ConnectionCaller, Visitor, Visitors

AT_ONCE = 3
"""Requests that are answered at a time, beside those that are known to be expensive."""

WATCHED = ("/health/", "/metrics/")
"""What programs ask that watch the site: each has a thread of its own, whatever else goes on."""

HURRY_SECONDS = 0.25
"""A request that takes longer, as a stream does, counts no further: nobody shall wait for slow ones."""

WAITING_SECONDS = 0.02
"""Whoever has taken less of the processor by then is waiting for something."""

BODY = "pmweb.body"
"""Where in its scope a request has its body, as a file, if the server has put it there."""

IDLE_THREADS = 2 * AT_ONCE
"""That many wait for requests; where slow ones need more of them, they end afterwards."""


PIECE_BYTES = 1 << 16
IN_MEMORY_BYTES = 2 * PIECE_BYTES
"""Of a body; a longer one goes into a file."""


class Pages(ASGIHandler):
    """Django's handler, with all that a request needs in one thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not ASGIHandler's, which loads the middleware for the event loop
        self.load_middleware(is_async=False)
        self._idle: list[ThreadPoolExecutor] = []
        self._places = asyncio.Semaphore(AT_ONCE)
        self._expensive = asyncio.Semaphore(budgets.AT_ONCE)
        self._watchers = {path: ThreadPoolExecutor(1, thread_name_prefix=f"watch {path}") for path in WATCHED}
        self._costs, self._visitors, self._budgets = Costs(), Visitors(), Budgets()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        # A header could say otherwise of where the site begins: whatever visitors like.
        scope = {CALLER: ConnectionCaller(), **scope, "root_path": ""}
        file = scope.pop(BODY, None)
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            if file is not None:
                file.close()
            return
        if file is not None:
            body.close()  # it is empty
            body = file
        with body:
            watcher = self._watchers.get(scope["path"])
            if watcher is None:
                response = await self._in_turn(scope, body, receive, send)
            else:
                response, _ = await self._in_thread(watcher, scope, body, _Place())
        if response is None:
            return
        if response.streaming:
            await self._stream(response, receive, send)
        else:
            await self.send_response(response, send)

    async def _in_turn(
        self, scope: dict[str, Any], body: IO[bytes], receive: Any, send: Any
    ) -> HttpResponseBase | None:
        """The answer to a request that has a place; None for one without end, which has been sent."""
        route, visitors = route_of(scope), self._visitors.of(scope)
        scope[CALLER].visitor = visitors[0].key if visitors[0].is_person else ""
        place = await self._place(scope, route, visitors)
        if isinstance(place, HttpResponse):
            return place
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")
        try:
            async with ThreadSensitiveContext(executor=thread):
                try:
                    response, is_complete = await sync_to_async(self._answer)(scope, body, place)
                finally:
                    self._costs.note(route, place.spent())
                    self._charge(scope, route, place)
                if is_complete:
                    return response
                place.stream()
                try:
                    await self._stream(response, receive, send)
                finally:
                    await sync_to_async(response.close)()
                    self._charge(scope, route, place)
                return None
        finally:
            place.leave()
            self._keep(thread)

    async def _in_thread(
        self, thread: ThreadPoolExecutor, scope: dict[str, Any], body: IO[bytes], place: _Place
    ) -> tuple[HttpResponseBase, bool]:
        async with ThreadSensitiveContext(executor=thread):
            return await sync_to_async(self._answer)(scope, body, place)

    async def _place(
        self, scope: dict[str, Any], route: str, visitors: list[Visitor]
    ) -> _Place | HttpResponse:
        """A place for a request to be answered at, once there is one; or the refusal."""
        if wait := self._wait(scope, visitors, expensive=False):
            return _too_much(scope, wait)
        await self._costs.known(route)
        if not self._costs.is_expensive(route):
            await self._places.acquire()
            if not self._costs.is_expensive(route):  # still
                return _Place(self._places.release, lambda spent: self._costs.note(route, spent))
            self._places.release()
        if wait := self._wait(scope, visitors, expensive=True):
            return _too_much(scope, wait)
        visitor = visitors[0]
        self._budgets.at_once[visitor.key] += 1
        try:
            await self._expensive.acquire()
        except BaseException:
            self._budgets.leave(visitor)
            raise

        def leave() -> None:
            self._expensive.release()
            self._budgets.leave(visitor)

        return _Place(leave, hurries=False)

    def _wait(self, scope: dict[str, Any], visitors: list[Visitor], *, expensive: bool) -> int:
        return max(self._budgets.wait(scope["method"], visitor, expensive=expensive) for visitor in visitors)

    def _charge(self, scope: dict[str, Any], route: str, place: _Place) -> None:
        """Charge whoever a request is from with what it has cost since it was charged before."""
        visitor = self._visitors.learn(scope, scope[CALLER])
        self._budgets.spend(visitor, place.uncharged(), expensive=self._costs.is_expensive(route))

    def _answer(self, scope: dict[str, Any], body: IO[bytes], place: _Place) -> tuple[HttpResponseBase, bool]:
        """The answer of middleware and view, and all that Django does before and after it; whether nothing
        more has to be computed for it.
        """
        with metered() as programs:
            place.begin(programs)
            response = self._answer_here(scope, body)
            return (response, False) if is_endless(response) else (completed(response), True)

    def _answer_here(self, scope: dict[str, Any], body: IO[bytes]) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=type(self), scope=scope)
        request, error = self.create_request(scope, body)
        response: HttpResponseBase | None = error if request is None else self.get_response(request)
        assert response is not None  # `create_request` gives one of the two
        response._handler_class = type(self)  # type: ignore[attr-defined]  # the sender of `request_finished`
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Hand it over part by part, for as long as there is somebody to take it."""
        parts = asyncio.ensure_future(self.send_response(response, send))
        gone = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((parts, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            parts.cancel()
            gone.cancel()
            await asyncio.gather(parts, gone, return_exceptions=True)
        if not parts.cancelled():
            parts.result()

    def _keep(self, thread: ThreadPoolExecutor) -> None:
        """For the next request, or not if there are enough."""
        if len(self._idle) < IDLE_THREADS:
            self._idle.append(thread)
        else:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)


class _Place:
    """Where a request is answered, until it is left or, if it `hurries`, the hurry is over: `in_hurry` is
    then told what it has taken of the processor. The time is that of the thread since `begin`, for as long as
    the request has it, with that of the programs which it has started.
    """

    def __init__(
        self,
        leave: Callable[[], object] = lambda: None,
        in_hurry: Callable[[float], object] = lambda _: None,
        *,
        hurries: bool = True,
    ) -> None:
        self._leave, self._in_hurry = leave, in_hurry
        self._hurry = self._once_more() if hurries else None
        self._left = False
        self._clock: int | None = None
        self._programs = ProgramMeter()
        self._begun = self._charged = 0.0

    def begin(self, programs: ProgramMeter) -> None:
        """From now on this thread works for the request."""
        self._begun, self._programs = time.thread_time(), programs
        self._clock = time.pthread_getcpuclockid(threading.get_ident())

    def spent(self) -> float:
        """Seconds of the processor so far."""
        if self._clock is None:
            return 0.0
        return time.clock_gettime(self._clock) - self._begun + self._programs.seconds

    def uncharged(self) -> float:
        """Those since it was called before."""
        spent = self.spent()
        due, self._charged = spent - self._charged, spent
        return due

    def stream(self) -> None:
        """What comes now lasts as long as somebody listens: in a moment the next one has the place."""
        if self._hurry is None:
            self._hurry = asyncio.get_running_loop().call_later(HURRY_SECONDS, self.leave)

    def leave(self) -> None:
        """Let the next one have it, once."""
        if self._hurry is not None:
            self._hurry.cancel()
        if not self._left:
            self._left = True
            self._leave()

    def _once_more(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(HURRY_SECONDS, self._is_slow)

    def _is_slow(self) -> None:
        """It waits for something, or is expensive. Where many work it can take a while until that shows."""
        spent = self.spent()
        if WAITING_SECONDS < spent < budgets.CHEAP_SECONDS:
            self._hurry = self._once_more()
            return
        self._in_hurry(spent)
        self.leave()


def _too_much(scope: dict[str, Any], wait: int) -> HttpResponse:
    """Without Django's middleware: a refusal has to be cheap."""
    detail = f"You have asked for much that takes long. Ask again in {wait} s."
    headers = {"Retry-After": str(wait), "Cache-Control": "no-store"}
    if not scope["path"].startswith("/api/"):
        return HttpResponse(f"{detail}\n", "text/plain; charset=utf-8", 429, headers=headers)
    right = "wait for as long as Retry-After says, and ask for one thing after another"
    return answer(429, detail, [Flaw(detail, "request", right)], headers)


def is_endless(response: HttpResponseBase) -> bool:
    """Whether its body comes to be while it is sent, and can take as long as it likes."""
    return isinstance(response, StreamingHttpResponse) and response.is_async


def completed(response: HttpResponseBase) -> HttpResponseBase:
    """The response with all of its body computed, and closed."""
    try:
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _pieces(_opened_again(response) or _spooled(response))
        elif isinstance(response, HttpResponse) and len(response.content) > IN_MEMORY_BYTES:
            parts = _pieces(_spooled(response))
            streaming = StreamingHttpResponse(parts, status=response.status_code, headers=response.headers)
            streaming.cookies = response.cookies
            return streaming
        return response
    finally:
        response.close()


def _opened_again(response: StreamingHttpResponse) -> IO[bytes] | None:
    """The file of a response that sends one, for whoever reads it when the response is closed."""
    file: Any = response.file_to_stream if isinstance(response, FileResponse) else None
    try:
        return None if file is None else os.fdopen(os.dup(file.fileno()), "rb")
    except io.UnsupportedOperation:  # it is in memory, or a part of one
        return None


def _spooled(response: StreamingHttpResponse | HttpResponse) -> IO[bytes]:
    file = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  closed by whoever has read it
    for part in response:
        file.write(part)
    file.seek(0)
    return file


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
