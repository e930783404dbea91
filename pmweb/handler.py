"""The ASGI handler of pages: one thread per request, few requests at a time, threads reused.

All views are synchronous. Django's own handler switches between event loop and threads around the middleware
and the view, and starts two threads per request, which costs more than many views. With many concurrent
threads a page takes half as much processor time again: one after another, all requests are answered sooner.

Expensive requests wait in a queue of their own, within budgets (`budgets`); health checks do not wait. An
answer is sent after its slot is released and its cost is charged, so slow readers delay nobody. Long bodies
are spooled to a file and sent from there piece by piece: view, thread and database connection are free by
then.
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
from inference.web.api.errors import Flaw, problem
from pmweb import budgets
from pmweb.budgets import Budgets, RouteCosts, route_of
from pmweb.callers import CALLER, ConnectionCaller, Visitor, Visitors

MAX_CONCURRENT = 3
"""Requests answered at a time, besides those of expensive routes."""

PROBE_PATHS = ("/health/", "/metrics/")
"""Addresses of monitoring programs; each has a thread of its own, independent of the load."""

SLOT_SECONDS = 0.25
"""Seconds after which a slow request, such as a stream, no longer occupies its slot."""

WAITING_SECONDS = 0.02
"""Processor seconds: a request that used less within `SLOT_SECONDS` is waiting, not computing."""

BODY = "pmweb.body"
"""Key of the request's body in its scope, a file, if the server has spooled it."""

IDLE_THREADS = 2 * MAX_CONCURRENT
"""Idle threads kept for later requests; surplus threads end after slow requests."""


PIECE_BYTES = 1 << 16
IN_MEMORY_BYTES = 2 * PIECE_BYTES
"""Longer bodies are spooled to a file."""


class Pages(ASGIHandler):
    """Django's handler, with middleware and view of a request in one thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not ASGIHandler's, which loads the middleware for the event loop
        self.load_middleware(is_async=False)
        self._idle: list[ThreadPoolExecutor] = []
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._expensive = asyncio.Semaphore(budgets.MAX_CONCURRENT)
        self._probes = {
            path: ThreadPoolExecutor(1, thread_name_prefix=f"watch {path}") for path in PROBE_PATHS
        }
        self._costs, self._visitors, self._budgets = RouteCosts(), Visitors(), Budgets()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        # "root_path" could come from a header that visitors choose.
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
            probe_thread = self._probes.get(scope["path"])
            if probe_thread is None:
                response = await self._answer_in_slot(scope, body, receive, send)
            else:
                response, _ = await self._in_thread(probe_thread, scope, body, _RequestSlot())
        if response is None:
            return
        if response.streaming:
            await self._stream(response, receive, send)
        else:
            await self.send_response(response, send)

    async def _answer_in_slot(
        self, scope: dict[str, Any], body: IO[bytes], receive: Any, send: Any
    ) -> HttpResponseBase | None:
        """The answer to a request after it got a slot; None for an endless stream, which has been sent."""
        route, visitors = route_of(scope), self._visitors.visitors_of(scope)
        scope[CALLER].visitor = visitors[0].key if visitors[0].is_person else ""
        slot = await self._acquire_slot(scope, route, visitors)
        if isinstance(slot, HttpResponse):
            return slot
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")
        try:
            async with ThreadSensitiveContext(executor=thread):
                try:
                    response, is_complete = await sync_to_async(self._answer)(scope, body, slot)
                finally:
                    self._costs.record(route, slot.cpu_seconds())
                    self._charge(scope, route, slot)
                if is_complete:
                    return response
                slot.stream()
                try:
                    await self._stream(response, receive, send)
                finally:
                    await sync_to_async(response.close)()
                    self._charge(scope, route, slot)
                return None
        finally:
            slot.leave()
            self._recycle(thread)

    async def _in_thread(
        self, thread: ThreadPoolExecutor, scope: dict[str, Any], body: IO[bytes], slot: _RequestSlot
    ) -> tuple[HttpResponseBase, bool]:
        async with ThreadSensitiveContext(executor=thread):
            return await sync_to_async(self._answer)(scope, body, slot)

    async def _acquire_slot(
        self, scope: dict[str, Any], route: str, visitors: list[Visitor]
    ) -> _RequestSlot | HttpResponse:
        """Wait for a slot; returns it, or a refusal."""
        if wait := self._wait(scope, visitors, expensive=False):
            return _too_many_requests(scope, wait)
        await self._costs.wait_until_known(route)
        if not self._costs.is_expensive(route):
            await self._slots.acquire()
            if not self._costs.is_expensive(route):  # still
                return _RequestSlot(self._slots.release, lambda seconds: self._costs.record(route, seconds))
            self._slots.release()
        if wait := self._wait(scope, visitors, expensive=True):
            return _too_many_requests(scope, wait)
        visitor = visitors[0]
        self._budgets.active[visitor.key] += 1
        try:
            await self._expensive.acquire()
        except BaseException:
            self._budgets.leave(visitor)
            raise

        def leave() -> None:
            self._expensive.release()
            self._budgets.leave(visitor)

        return _RequestSlot(leave, is_timed=False)

    def _wait(self, scope: dict[str, Any], visitors: list[Visitor], *, expensive: bool) -> int:
        return max(self._budgets.wait(scope["method"], visitor, expensive=expensive) for visitor in visitors)

    def _charge(self, scope: dict[str, Any], route: str, slot: _RequestSlot) -> None:
        """Charge the request's visitor with the processor time since the last charge."""
        visitor = self._visitors.record(scope, scope[CALLER])
        self._budgets.charge(visitor, slot.uncharged_seconds(), expensive=self._costs.is_expensive(route))

    def _answer(
        self, scope: dict[str, Any], body: IO[bytes], slot: _RequestSlot
    ) -> tuple[HttpResponseBase, bool]:
        """Run middleware and view, with Django's signals; returns the response and whether it is complete."""
        with metered() as programs:
            slot.begin(programs)
            response = self._answer_here(scope, body)
            return (response, False) if is_endless(response) else (with_complete_body(response), True)

    def _answer_here(self, scope: dict[str, Any], body: IO[bytes]) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=type(self), scope=scope)
        request, error = self.create_request(scope, body)
        response: HttpResponseBase | None = error if request is None else self.get_response(request)
        assert response is not None  # `create_request` gives one of the two
        response._handler_class = type(self)  # type: ignore[attr-defined]  # the sender of `request_finished`
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Send a stream part by part until the visitor disconnects."""
        parts = asyncio.ensure_future(self.send_response(response, send))
        disconnected = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((parts, disconnected), return_when=asyncio.FIRST_COMPLETED)
        finally:
            parts.cancel()
            disconnected.cancel()
            await asyncio.gather(parts, disconnected, return_exceptions=True)
        if not parts.cancelled():
            parts.result()

    def _recycle(self, thread: ThreadPoolExecutor) -> None:
        """Keep the thread for a later request, or end it if enough are idle."""
        if len(self._idle) < IDLE_THREADS:
            self._idle.append(thread)
        else:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)


class _RequestSlot:
    """A slot of a request, until it is released or, if `is_timed`, `SLOT_SECONDS` have passed: then `on_slow`
    gets the request's processor seconds. These are the thread's since `begin`, and those of programs it
    started."""

    def __init__(
        self,
        leave: Callable[[], object] = lambda: None,
        on_slow: Callable[[float], object] = lambda _: None,
        *,
        is_timed: bool = True,
    ) -> None:
        self._leave, self._on_slow = leave, on_slow
        self._timer = self._start_timer() if is_timed else None
        self._is_released = False
        self._clock: int | None = None
        self._programs = ProgramMeter()
        self._started = self._charged = 0.0

    def begin(self, programs: ProgramMeter) -> None:
        """Start counting the current thread's processor time for the request."""
        self._started, self._programs = time.thread_time(), programs
        self._clock = time.pthread_getcpuclockid(threading.get_ident())

    def cpu_seconds(self) -> float:
        """Processor seconds of the request so far."""
        if self._clock is None:
            return 0.0
        return time.clock_gettime(self._clock) - self._started + self._programs.seconds

    def uncharged_seconds(self) -> float:
        """Processor seconds since the last call."""
        total = self.cpu_seconds()
        due, self._charged = total - self._charged, total
        return due

    def stream(self) -> None:
        """The answer is an endless stream: release the slot after `SLOT_SECONDS`."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SLOT_SECONDS, self.leave)

    def leave(self) -> None:
        """Release the slot; repeated calls have no effect."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_released:
            self._is_released = True
            self._leave()

    def _start_timer(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(SLOT_SECONDS, self._on_timer)

    def _on_timer(self) -> None:
        """Release the slot of a waiting or expensive request; under load, wait until its kind is clear."""
        seconds = self.cpu_seconds()
        if WAITING_SECONDS < seconds < budgets.CHEAP_SECONDS:
            self._timer = self._start_timer()
            return
        self._on_slow(seconds)
        self.leave()


def _too_many_requests(scope: dict[str, Any], wait: int) -> HttpResponse:
    """The refusal, without Django's middleware: it has to be cheap."""
    detail = f"Your requests have used too much processor time. Try again in {wait} s."
    headers = {"Retry-After": str(wait), "Cache-Control": "no-store"}
    if not scope["path"].startswith("/api/"):
        return HttpResponse(f"{detail}\n", "text/plain; charset=utf-8", 429, headers=headers)
    right = "wait for the seconds in Retry-After, and send one request after another"
    return problem(429, detail, [Flaw(detail, "request", right)], headers)


def is_endless(response: HttpResponseBase) -> bool:
    """Whether the body is an asynchronous stream, which may never end."""
    return isinstance(response, StreamingHttpResponse) and response.is_async


def with_complete_body(response: HttpResponseBase) -> HttpResponseBase:
    """The response with its whole body computed, long bodies in a file, and closed."""
    try:
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _pieces(_reopened_file(response) or _spool(response))
        elif isinstance(response, HttpResponse) and len(response.content) > IN_MEMORY_BYTES:
            parts = _pieces(_spool(response))
            streaming = StreamingHttpResponse(parts, status=response.status_code, headers=response.headers)
            streaming.cookies = response.cookies
            return streaming
        return response
    finally:
        response.close()


def _reopened_file(response: StreamingHttpResponse) -> IO[bytes] | None:
    """A duplicate of a response's file, which stays open when the response is closed; None without one."""
    file: Any = response.file_to_stream if isinstance(response, FileResponse) else None
    try:
        return None if file is None else os.fdopen(os.dup(file.fileno()), "rb")
    except io.UnsupportedOperation:  # a file in memory, or a part of a file
        return None


def _spool(response: StreamingHttpResponse | HttpResponse) -> IO[bytes]:
    file = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  closed by whoever has read it
    for part in response:
        file.write(part)
    file.seek(0)
    return file


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
