"""The pages for requests that cannot be understood, are too many, or use a method that the address lacks."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.template.loader import render_to_string

from inference.web.api.errors import answer
from inference.web.api.site import ROOT


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say what was wrong where that is known; other causes may tell an attacker too much."""
    if request.path.startswith(ROOT):
        return answer(400, _said(exception) or "The request cannot be understood")
    return render(request, "400.html", {"said": _said(exception)}, status=400)


def _said(exception: Exception) -> str:
    match exception:
        case BadRequest():
            return str(exception)
        case TooManyFilesSent():
            return f"Too many files at once: send at most {settings.DATA_UPLOAD_MAX_NUMBER_FILES}."
        case TooManyFieldsSent():
            return f"Too many fields at once: send at most {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS}."
        case RequestDataTooBig():
            return f"Too much text at once: send at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE >> 20} MiB."
    return ""


def too_much(request: HttpRequest, error: Exception) -> HttpResponse:
    """Say what there is as much of as one may have at a time."""
    return render(request, "429.html", {"said": str(error)}, status=429)


def not_allowed(request: HttpRequest, refusal: HttpResponseNotAllowed) -> HttpResponse:
    """Name the methods that the address takes, for whoever has opened the address of a button."""
    context = {"methods": refusal["Allow"], "opens": "GET" in refusal["Allow"], "method": request.method}
    refusal.content = render_to_string("405.html", context, request)
    return refusal
