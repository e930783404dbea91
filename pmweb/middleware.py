"""Middleware for all answers: caching, referrers, HEAD, NUL characters."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control

Answer = Callable[[HttpRequest], HttpResponseBase]


def private_answers(answer: Answer) -> Answer:
    """Keep pages out of shared caches, and require revalidation: almost all are behind the log-in."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_cache=True)
        return response

    return middleware


def no_address_with_token(answer: Answer) -> Answer:
    """Send no referrer from pages whose address has a token.

    The origin stays in it: Django's CSRF check needs it.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        match = request.resolver_match
        if match is not None and "token" in match.kwargs:
            response.headers.setdefault("Referrer-Policy", "strict-origin")
        return response

    return middleware


def no_body_for_head(answer: Answer) -> Answer:
    """Drop the body of an answer to HEAD, but keep its length.

    Daphne would send all but its first 64 KiB, which a browser reads as the next answer.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            response.content = b""
        elif request.method == "HEAD" and isinstance(response, StreamingHttpResponse):
            response.streaming_content = ()
        return response

    return middleware


class NoNulCharacters:
    """Refuse requests with NUL characters, which no supported database can store or search.

    It runs directly before the view: bodies of visitors who are not logged in are not read at all.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._answer(request)

    def process_view(self, request: HttpRequest, _view: object, _args: object, _named: object) -> None:
        """Raises `BadRequest` for a NUL character in path or parameters."""
        values = [request.path, *(text for _, texts in request.GET.lists() for text in texts)]
        if request.method == "POST":
            values += [text for _, texts in request.POST.lists() for text in texts]
        if any("\0" in text for text in values):
            raise BadRequest("The request contains a NUL character: remove it.")
