"""The sign of life that the launcher, and whoever watches the site, asks for."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

from pmweb import __version__


@never_cache
def health(_request: HttpRequest) -> JsonResponse:
    """Product and version, once the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"product": "pmweb", "version": __version__})
