"""What holds for every answer, whichever view gave it."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
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


def no_body_for_head(answer: Answer) -> Answer:
    """Leave out the body of an answer to HEAD, but not its length.

    Daphne would send all but the first 64 KiB of it, which the browser takes for the next answer.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            response.content = b""
        return response

    return middleware
