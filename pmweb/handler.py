"""Pages over ASGI, each answered in one piece by one thread.

Every view here is synchronous. Django's own handler still changes to the event loop and back between the
middleware and the view, which costs more than many a view does.
"""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class Pages(ASGIHandler):
    """Django's handler, with middleware and views in the same thread."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not ASGIHandler's, which loads the middleware for the event loop
        self.load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, from this request's thread."""
        return await sync_to_async(self.get_response)(request)
