"""Pages over ASGI: each request in one thread, few at a time, and threads that are kept for those after it.

Every view here is synchronous. Django's own handler changes to the event loop and back between the middleware
and the view, and starts two threads for every request, one of which ends the other. Together that costs more
than many a view does. And where many come at once, each in a thread of its own, a page takes half as much
again of the processor: one after the other they all have their answer sooner.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.core.signals import request_started
from django.db import connections
from django.http.response import FileResponse, HttpResponseBase
from django.urls import set_script_prefix

AT_ONCE = 3
"""Requests that are answered at a time."""

HURRY_SECONDS = 0.25
"""A request that takes longer, as a stream does, counts no further: nobody shall wait for slow ones."""

BODY = "pmweb.body"
"""Where in its scope a request has its body, as a file, if the server has put it there."""

IDLE_THREADS = 2 * AT_ONCE
"""That many wait for requests; where slow ones need more of them, they end afterwards."""


class Pages(ASGIHandler):
    """Django's handler, with all that a request needs in one thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not ASGIHandler's, which loads the middleware for the event loop
        self.load_middleware(is_async=False)
        self._idle: list[ThreadPoolExecutor] = []
        self._places = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        scope = {**scope, "root_path": ""}  # a header could say otherwise: whatever visitors like
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
            await self._places.acquire()
            place = _Place(self._places)
            thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")
            try:
                async with ThreadSensitiveContext(executor=thread):
                    response = await sync_to_async(self._answer)(scope, body)
                    if response.streaming:
                        await self._stream(response, receive, send)
                    else:
                        await self.send_response(response, send)
            finally:
                place.leave()
                self._keep(thread)

    def _answer(self, scope: dict[str, Any], body: IO[bytes]) -> HttpResponseBase:
        """The answer of middleware and view, and all that Django does before and after it."""
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=type(self), scope=scope)
        request, error = self.create_request(scope, body)
        response: HttpResponseBase = error if request is None else self.get_response(request)
        response._handler_class = type(self)  # type: ignore[attr-defined]  # the sender of `request_finished`
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()  # its content is there
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
            await sync_to_async(response.close)()
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
    """One of the places, until it is left or the hurry is over."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._hurry = asyncio.get_running_loop().call_later(HURRY_SECONDS, self.leave)
        self._left = False

    def leave(self) -> None:
        """Let the next one have it, once."""
        self._hurry.cancel()
        if not self._left:
            self._left = True
            self._places.release()
