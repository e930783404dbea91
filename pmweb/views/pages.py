"""About, Help, Glossary and Storage; what monitoring asks; pages for requests that are refused."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from inference.features.asking.predictors.query import program_listings
from inference.predictors import command
from inference.web.api.errors import problem
from inference.web.api.site import ROOT
from pmweb import __version__, installation
from pmweb import metrics as numbers
from pmweb.accounts.roles import AccessLevel, level_of_request
from pmweb.callers import token_in
from pmweb.help import glossary_terms
from pmweb.manual import manual_pages, manual_parts
from pmweb.retention import overview, request_pruning


def about(request: HttpRequest) -> HttpResponse:
    context = {
        **installation.sections(),
        "programs": installation.find_programs(),
        "predictors": [row for row in program_listings() if row[0].name != command.KIND],
    }
    return render(request, "pmweb/about.html", context)


def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "pmweb/glossary.html", {"terms": glossary_terms()})


def manual(request: HttpRequest) -> HttpResponse:
    return render(request, "pmweb/manual.html", {"parts": manual_parts()})


def manual_chapter(request: HttpRequest, name: str) -> HttpResponse:
    if (page := manual_pages().get(name)) is None:
        raise Http404(f"the documentation has no page {name}")
    if page.address != request.path:
        return redirect(page.address)
    return render(request, "pmweb/manual_page.html", {"parts": manual_parts(), "page": page})


def storage(request: HttpRequest) -> HttpResponse:
    """The page of old data and the newest prunings; a worker weighs the data, not this view."""
    return render(request, "pmweb/storage.html", vars(overview()))


def storage_prune(request: HttpRequest) -> HttpResponse:
    """Request a pruning, or a dry run, by a worker."""
    dry = request.POST.get("what") != "remove"
    request_pruning(request.user, dry=dry)
    action = "looks what would go" if dry else "removes what is older than is kept"
    messages.success(request, f"A worker {action}; this page shows the result.")
    return redirect("storage")


@never_cache
def health(_request: HttpRequest) -> JsonResponse:
    """Product and version; fails if the database does not answer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"product": "pmweb", "version": __version__})


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics, or 401 without the token of `PMWEB_METRICS_TOKEN` and without an account."""
    if not (_has_token(request) or level_of_request(request) >= AccessLevel.MEMBER):
        refusal = HttpResponse(
            "Log in, or send the token of PMWEB_METRICS_TOKEN.\n", "text/plain", status=401
        )
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    return HttpResponse(numbers.exposition(), numbers.CONTENT_TYPE)


def _has_token(request: HttpRequest) -> bool:
    token = token_in(request.headers.get("Authorization", ""))
    expected = settings.METRICS_TOKEN
    return bool(expected) and secrets.compare_digest(token.encode(), expected.encode())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Explain errors of known classes only; other messages may tell an attacker too much."""
    if request.path.startswith(ROOT):
        return problem(400, _error_text(exception) or "The request cannot be understood")
    return render(request, "400.html", {"said": _error_text(exception)}, status=400)


def _error_text(exception: Exception) -> str:
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


def limit_reached(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page of a `LimitError`, with the number that the user has."""
    return render(request, "429.html", {"said": str(error)}, status=429)


def not_allowed(request: HttpRequest, refusal: HttpResponseNotAllowed) -> HttpResponse:
    """Name the address's methods, for visitors who opened the address of a button."""
    context = {"methods": refusal["Allow"], "opens": "GET" in refusal["Allow"], "method": request.method}
    refusal.content = render_to_string("405.html", context, request)
    return refusal
