"""What programs that watch the site ask for: the sign of life, and the numbers of `/metrics/`."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pmweb import __version__
from pmweb import metrics as numbers
from pmweb.accounts.roles import AccessLevel
from pmweb.callers import token_in
from pmweb.permissions.context import level_of_request


@never_cache
def health(_request: HttpRequest) -> JsonResponse:
    """Product and version, once the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"product": "pmweb", "version": __version__})


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The numbers, or 401 for whoever shows no token and has no account."""
    if not (_has_token(request) or level_of_request(request) >= AccessLevel.MEMBER):
        refusal = HttpResponse(
            "Log in, or show the token of PMWEB_METRICS_TOKEN.\n", "text/plain", status=401
        )
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    return HttpResponse(numbers.exposition(), numbers.CONTENT_TYPE)


def _has_token(request: HttpRequest) -> bool:
    token = token_in(request.headers.get("Authorization", ""))
    wanted = settings.METRICS_TOKEN
    return bool(wanted) and secrets.compare_digest(token.encode(), wanted.encode())
