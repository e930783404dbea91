"""The API put together: its operations, how bodies of requests are read, and the addresses it answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, re_path
from ninja import NinjaAPI
from ninja.operation import Operation
from ninja.parser import Parser

from inference import __version__
from inference.formats.strict_json import StrictJsonError, load
from inference.web.api import errors
from inference.web.api.access import ScopeRule, reading
from inference.web.api.client import CLIENT_NAME, client_answer
from inference.web.api.document import document_of
from inference.web.api.errors import ProblemError, answer
from inference.web.contributions import routers

ROOT = "/api/v1/"
NAME = "api-v1"
"""Of every address of the API: what somebody may do is asked of the token, not of the address."""

_MAKING = Lock()
"""Requests come in several threads, and a router belongs to one API alone."""

View = Callable[..., HttpResponseBase]


class _Api(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        """As the function is called: clients that are generated have methods of these names."""
        return operation.view_func.__name__


def api() -> NinjaAPI:
    """All operations. Made when the first of them is asked for, when all apps have added theirs."""
    with _MAKING:
        return _made()


@cache
def _made() -> NinjaAPI:
    made = _Api(
        title="pmweb",
        version=__version__,
        description="Port mappings of processors, inferred from throughput measurements.",
        docs_url=None,
        openapi_url=None,
        auth=ScopeRule(),
        parser=StrictParser(),
        urls_namespace="pmweb-api",
    )
    errors.install(made)
    for router, heading in routers():
        made.add_router("", router, tags=[heading])
    return made


def addresses() -> list[URLPattern]:
    """What answers below `ROOT`: the URL configuration of `inference.web.api.operations`."""
    prefix = ROOT.removeprefix("/")
    found = [
        path(f"{prefix}{each.pattern}", _answering(each.callback), name=NAME)
        for each in api().urls[0]
        if str(each.pattern)  # ninja's own root has none
    ]
    return [
        path(f"{prefix}openapi.json", openapi, name=NAME),
        path(f"{prefix}{CLIENT_NAME}", client_file, name=NAME),
        *found,
        re_path(rf"^{prefix}.*$", _nothing, name=NAME),
    ]


def document() -> dict[str, Any]:
    return document_of(api(), ROOT)


def openapi(request: HttpRequest) -> HttpResponse:
    """The document, for whoever may read."""
    return _refusal(request) or JsonResponse(document())


def client_file(request: HttpRequest) -> HttpResponse:
    """The client in Python that is written from the document, for whoever may read."""
    return _refusal(request) or client_answer(document())


def _answering(view: Any) -> View:
    """The view with problems for unknown methods."""

    def answering(request: HttpRequest, **named: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, **named)
        if isinstance(response, HttpResponseNotAllowed):
            allowed = response["Allow"]
            return answer(
                405,
                f"{request.method} is not for this address; it takes {allowed}",
                headers={"Allow": allowed},
            )
        return response

    return answering


def _nothing(request: HttpRequest) -> HttpResponse:
    """Every other address below the root."""
    return _refusal(request) or answer(
        404, f"There is no operation at {request.path[:200]}; /api/ lists all of them"
    )


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """Where nobody is let in; None for whoever may read."""
    try:
        reading(request)
    except ProblemError as error:
        return answer(error.status, error.what, error.flaws, error.headers)
    return None


MOST_VALUES = 50_000
"""Values and keys of a body: were each of them a fault, the answer would take 50 MB of memory."""
MORE_VALUES = {"/api/v1/core-models": 600_000}
"""Of operations that take a document, by their address: several times what all schemes of x86-64 need."""


class StrictParser(Parser):
    """JSON that can be stored, or a problem that says where it cannot."""

    def parse_body(self, request: HttpRequest) -> Any:
        try:
            value = load(request.body, "body", MORE_VALUES.get(request.path_info, MOST_VALUES))
        except StrictJsonError as error:
            raise ProblemError(400, str(error), where="body", right="an object {…}") from None
        if not isinstance(value, dict):
            raise ProblemError(400, "the body is not an object", where="body", right="an object {…}")
        return value
