"""Pages over ASGI: each request in one thread, few at a time, and threads that are kept for those after it.

Every view here is synchronous. Django's own handler changes to the event loop and back between the middleware
and the view, and starts two threads for every request, one of which ends the other. Together that costs more
than many a view does. And where many come at once, each in a thread of its own, a page takes half as much
again of the processor: one after the other they all have their answer sooner.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

AT_ONCE = 3
"""Requests that are answered at a time."""

HURRY_SECONDS = 0.25
"""A request that takes longer, as a stream does, counts no further: nobody shall wait for slow ones."""

IDLE_THREADS = 2 * AT_ONCE
"""That many wait for requests; where slow ones need more of them, they end afterwards."""


class Pages(ASGIHandler):
    """Django's handler, with middleware and views in the same thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not ASGIHandler's, which loads the middleware for the event loop
        self.load_middleware(is_async=False)
        self._idle: list[ThreadPoolExecutor] = []
        self._places = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        await self._places.acquire()
        place = _Place(self._places)
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            place.leave()
            if len(self._idle) < IDLE_THREADS:
                self._idle.append(thread)
            else:
                thread.submit(connections.close_all)
                thread.shutdown(wait=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, from this request's thread."""
        return await sync_to_async(self.get_response)(request)


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
