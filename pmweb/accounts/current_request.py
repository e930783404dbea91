"""The request that this thread or task is answering, if any: on whose behalf code runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


@contextmanager
def acting_in(request: HttpRequest) -> Iterator[None]:
    """While this lasts, whatever is done is done by the user of this request."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def current_request() -> HttpRequest | None:
    """The request that is being answered; None in a command or a worker.

    Its `user` is asked for when something is noted, so that an API can set it after it has read a token.
    """
    return _request.get()
