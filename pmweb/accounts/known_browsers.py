"""Browsers that have logged in before are known by a signed cookie. It lets nobody in: whoever shows it is
not shut out by what others behind the same address, or for the same name, have tried (`throttle`).

The cookie names the accounts that have logged in with it, each with a random number by which its failures are
counted. It is void for an account once that has another password.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import salted_hmac

from pmweb.accounts.throttle import AttemptSource

_SALT = "pmweb.accounts.known_browsers"
_LIFETIME = timedelta(days=365)
_MOST_ACCOUNTS = 5

Known = dict[str, list[str]]
"""{number of an account: [number of the browser, what stands for the password]}, oldest first."""


def cookie_name() -> str:
    """Beside the session's, which tells sites on one host apart."""
    return settings.SESSION_COOKIE_NAME.replace("sessionid", "known-browser")


def remember(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Let the browser that gets this answer be known as one of this user's."""
    known = _known(request)
    number = _number(known, user) or secrets.token_urlsafe(16)
    known.pop(str(user.pk), None)
    newest = [*known.items(), (str(user.pk), [number, _stands_for_password(user)])][-_MOST_ACCOUNTS:]
    response.set_cookie(
        cookie_name(),
        signing.dumps(dict(newest), salt=_SALT),
        max_age=_LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def source_of(request: HttpRequest, name: str) -> AttemptSource:
    """Where an attempt to log in as `name` comes from."""
    address, known = request.META.get("REMOTE_ADDR", ""), _known(request)
    user = User.objects.filter(username=name).first() if known else None
    return AttemptSource(address, "" if user is None else _number(known, user))


def _number(known: Known, user: User) -> str:
    number, password = known.get(str(user.pk), ("", ""))
    return number if number and secrets.compare_digest(password, _stands_for_password(user)) else ""


def _known(request: HttpRequest) -> Known:
    try:
        known: Known = signing.loads(request.COOKIES.get(cookie_name(), ""), salt=_SALT, max_age=_LIFETIME)
        return known
    except signing.BadSignature:
        return {}


def _stands_for_password(user: User) -> str:
    return salted_hmac(_SALT, user.password, algorithm="sha256").hexdigest()[:24]
