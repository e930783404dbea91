"""The page for requests that cannot be understood."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

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
