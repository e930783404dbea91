"""The addresses of the API and of its reference."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path, re_path, resolve

from inference.web.api.client import CLIENT_NAME
from inference.web.api.reference import api_client, reference
from inference.web.api.site import NAME, ROOT


def operation(request: HttpRequest) -> HttpResponseBase:
    """Whatever answers at an address below `ROOT`; the first request of a process makes all of them."""
    found = resolve(request.path_info, "inference.web.api.operations")
    answer: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
    return answer


operation.csrf_exempt = True  # type: ignore[attr-defined]  # `access` checks requests of sessions itself

urlpatterns = [
    path("api/", reference, name="api"),
    path(f"api/{CLIENT_NAME}", api_client, name="api-client"),
    re_path(rf"^{ROOT.removeprefix('/')}", operation, name=NAME),
]
