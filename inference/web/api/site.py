"""The API assembled from all routers: operations, the parser of bodies, and the addresses below `ROOT`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import URLResolver, path, re_path
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI
from ninja.operation import Operation
from ninja.parser import Parser

from inference import __version__
from inference.formats.archived_parts import StrictJsonError, load
from inference.web.api import errors
from inference.web.api.access import ScopeRule, read_access
from inference.web.api.client import CLIENT_NAME, client_answer
from inference.web.api.document import document_of
from inference.web.api.errors import ProblemError, problem
from inference.web.contributions import routers

ROOT = "/api/v1/"
NAME = "api-v1"
"""URL name of every address of the API: permissions depend on the token, not on the address."""

_BUILD_LOCK = Lock()
"""Requests come in several threads, and a router can be added to one API only."""

View = Callable[..., HttpResponseBase]


class _Api(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The function's name: generated clients have methods of these names."""
        return operation.view_func.__name__


def api() -> NinjaAPI:
    """All operations. Built at the first request, when all apps have registered their routers."""
    with _BUILD_LOCK:
        return _build_api()


@cache
def _build_api() -> NinjaAPI:
    ninja_api = _Api(
        title="pmweb",
        version=__version__,
        description="Port mappings of processors, inferred from throughput measurements.",
        docs_url=None,
        openapi_url=None,
        auth=ScopeRule(),
        parser=StrictParser(),
        urls_namespace="pmweb-api",
    )
    errors.install(ninja_api)
    for router, heading in routers():
        ninja_api.add_router("", router, tags=[heading])
    return ninja_api


@cache
def resolver() -> URLResolver:
    """Resolver of the addresses below `ROOT`. Built at the first request: it takes as long as all pages."""
    prefix = ROOT.removeprefix("/")
    operation_paths = [
        path(f"{prefix}{url.pattern}", _with_problems(url.callback), name=NAME)
        for url in api().urls[0]
        if str(url.pattern)  # ninja's own root has none
    ]
    addresses = [
        path(f"{prefix}openapi.json", openapi, name=NAME),
        path(f"{prefix}{CLIENT_NAME}", client_file, name=NAME),
        *operation_paths,
        re_path(rf"^{prefix}.*$", _no_operation, name=NAME),
    ]
    return URLResolver(RegexPattern(r"^/"), addresses)


def document() -> dict[str, Any]:
    return document_of(api(), ROOT)


def openapi(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document, with the scope "read"."""
    return _refusal(request) or JsonResponse(document())


def client_file(request: HttpRequest) -> HttpResponse:
    """The Python client, with the scope "read"."""
    return _refusal(request) or client_answer(document())


def _with_problems(view: Any) -> View:
    """The view, with a problem document as the answer to other methods."""

    def wrapped(request: HttpRequest, **named: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, **named)
        if isinstance(response, HttpResponseNotAllowed):
            allowed = response["Allow"]
            return problem(
                405,
                f"This address does not accept {request.method}; it accepts {allowed}",
                headers={"Allow": allowed},
            )
        return response

    return wrapped


def _no_operation(request: HttpRequest) -> HttpResponse:
    """The answer at all other addresses below the root."""
    return _refusal(request) or problem(
        404, f"There is no operation at {request.path[:200]}; /api/ lists all of them"
    )


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """The problem of a caller without the scope "read"; None for others."""
    try:
        read_access(request)
    except ProblemError as error:
        return problem(error.status, error.what, error.flaws, error.headers)
    return None


MAX_VALUES = 50_000
"""Values and keys of a body: if all were wrong, the answer would take 50 MB of memory."""
MAX_VALUES_BY_PATH = {"/api/v1/core-models": 600_000}
"""{address: limit} of operations that take a document; several times the values of all x86-64 schemes."""


class StrictParser(Parser):
    """Parses JSON that the database can store; the problem of other JSON names the place."""

    def parse_body(self, request: HttpRequest) -> Any:
        try:
            value = load(request.body, "body", MAX_VALUES_BY_PATH.get(request.path_info, MAX_VALUES))
        except StrictJsonError as error:
            raise ProblemError(400, str(error), where="body", right="an object {…}") from None
        if not isinstance(value, dict):
            raise ProblemError(400, "the body is not an object", where="body", right="an object {…}")
        return value
