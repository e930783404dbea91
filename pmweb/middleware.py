"""What holds for every answer, whichever view gave it."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control

Answer = Callable[[HttpRequest], HttpResponseBase]


def private_answers(answer: Answer) -> Answer:
    """Keep pages out of shared caches, and old ones from being shown: almost all are behind the log-in."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_cache=True)
        return response

    return middleware


def no_address_with_token(answer: Answer) -> Answer:
    """Let no request that begins on a page say the page's address, where that address has a token.

    The origin stays: by it, forms are known to be this site's own.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        match = request.resolver_match
        if match is not None and "token" in match.kwargs:
            response.headers.setdefault("Referrer-Policy", "strict-origin")
        return response

    return middleware


def no_body_for_head(answer: Answer) -> Answer:
    """Leave out the body of an answer to HEAD, but not its length.

    Daphne would send all but the first 64 KiB of it, which the browser takes for the next answer.
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
    """Refuse what no database here can look for or store; nobody types it.

    Before the view and not earlier: what visitors send who are not logged in is not even read.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._answer(request)

    def process_view(self, request: HttpRequest, _view: object, _args: object, _named: object) -> None:
        """Raises `BadRequest`, which has a page."""
        values = [request.path, *(text for _, texts in request.GET.lists() for text in texts)]
        if request.method == "POST":
            values += [text for _, texts in request.POST.lists() for text in texts]
        if any("\0" in text for text in values):
            raise BadRequest("There is a NUL character in the request: no text here has one.")
