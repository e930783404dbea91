"""What a visitor may do, as views and templates ask for it."""

from __future__ import annotations

from django.http import HttpRequest

from pmweb.accounts.roles import AccessLevel, level_of


def level_of_request(request: HttpRequest) -> AccessLevel:
    """The level of whoever sent it, looked up once."""
    found: AccessLevel | None = getattr(request, "_level", None)
    if found is None:
        found = request._level = level_of(getattr(request, "user", None))  # type: ignore[attr-defined]
    return found


def rights(request: HttpRequest) -> dict[str, bool]:
    """For templates: which buttons are of use to the visitor. `may_read`: pages at all."""
    level = level_of_request(request)
    return {
        "may_read": level >= AccessLevel.READER,
        "may_operate": level >= AccessLevel.OPERATOR,
        "may_administer": level >= AccessLevel.ADMIN,
    }
