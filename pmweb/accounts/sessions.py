"""The sessions of a person: how they begin, what is known of each, how they end, links and tokens included.

Whoever has the cookie of a session that ended is nobody; open connections are closed within a second
(`watching`). Each end is noted in the audit log.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY, login
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone

from pmweb.accounts import api_tokens, audit, known_browsers, links
from pmweb.accounts.audit import Action
from pmweb.accounts.session_store import digest_of
from pmweb.models import ApiToken, BrowserSession

_AT_ONCE = 500


def key_of(request: HttpRequest) -> str:
    """Under what the request's session stands in the database; "" where it has none."""
    key = request.session.session_key
    return digest_of(key) if key else ""


def begun(request: HttpRequest, user: User, way: BrowserSession.Way) -> None:
    """Somebody has logged in; what was known of sessions of theirs that are over is swept away."""
    if not request.session.session_key:  # the one before was another person's, and is gone
        request.session.create()
    _sweep(user)
    now, address = timezone.now(), address_of(request)
    facts = {
        "user": user,
        "way": way,
        "created": now,
        "address": address,
        "browser": browser_of(request),
        "last_seen": now,
        "last_address": address,
    }
    BrowserSession.objects.update_or_create(session=key_of(request), defaults=facts)


def renamed(before: str, request: HttpRequest) -> None:
    """The session has another key than `before`, the one that `key_of` gave."""
    BrowserSession.objects.filter(session=before).update(session=key_of(request))


def ended(request: HttpRequest) -> None:
    BrowserSession.objects.filter(session=key_of(request)).delete()


def of(user: User) -> QuerySet[BrowserSession]:
    """Those of a person that go on, the one seen last first."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return BrowserSession.objects.filter(user=user, session__in=alive)


@transaction.atomic
def end_all_of(user: User, but: str = "") -> int:
    """Log the user out everywhere, but for the session of this key (`key_of`); how many sessions there were.

    Whose a session is stands inside it, and only that is sure to be complete: so all that have not run out
    are read, some ten microseconds for each.
    """
    wanted = str(user.pk)
    rows = Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=_AT_ONCE)
    keys = [
        row.session_key
        for row in rows
        if row.session_key != but and row.get_decoded().get(SESSION_KEY) == wanted
    ]
    for start in range(0, len(keys), _AT_ONCE):
        Session.objects.filter(session_key__in=keys[start : start + _AT_ONCE]).delete()
    _sweep(user)
    return len(keys)


def address_of(request: HttpRequest) -> str:
    """Where a request comes from."""
    return str(request.META.get("REMOTE_ADDR", ""))[:64]


def browser_of(request: HttpRequest) -> str:
    return str(request.META.get("HTTP_USER_AGENT", "")).replace("\0", "")[:300]


def _sweep(user: User) -> None:
    alive = Session.objects.values("session_key")
    BrowserSession.objects.filter(user=user).exclude(session__in=alive).delete()


@transaction.atomic
def end_session(row: BrowserSession, by: Any = None) -> None:
    whose = row.user
    Session.objects.filter(session_key=row.session).delete()
    row.delete()
    audit.record(by, Action.LOGGED_OUT, kind="session", name=str(whose), detail=f"ended, from {row.address}")


@transaction.atomic
def end_other_sessions(request: HttpRequest, user: User) -> int:
    """All sessions of the request's user but that of the request; how many there were."""
    number = end_all_of(user, but=key_of(request))
    if number:
        _note(user, user, f"{number} other")
    return number


@transaction.atomic
def log_out(user: User, by: Any = None) -> int:
    """All sessions of a user; how many there were. Tokens, links and the password stay."""
    number = end_all_of(user)
    _note(by, user, str(number))
    return number


@transaction.atomic
def end_links(user: User, by: Any = None) -> int:
    """Log-in links that wait; how many there were."""
    number, _ = links.waiting_for(user).delete()
    if number:
        audit.record(by, Action.ACCOUNTS, user, detail=f"log-in links ended: {number}")
    return number


def end_tokens(user: User, by: Any = None) -> int:
    """API tokens; how many there were."""
    return api_tokens.revoke(ApiToken.objects.filter(user=user), by=by)


def _note(by: Any, whose: User, number: str) -> None:
    audit.record(by, Action.LOGGED_OUT, whose, detail=f"sessions ended: {number}")


Way = BrowserSession.Way


def let_in(request: HttpRequest, user: User, way: BrowserSession.Way, onward: str) -> HttpResponseRedirect:
    """Begin the session, and lead on to an address; `noting` notes it."""
    request._way_in = way  # type: ignore[attr-defined]  # the signal of `login` has no room for it
    login(request, user)
    response = HttpResponseRedirect(onward)
    known_browsers.remember(request, response, user)
    return response


def way_of(request: HttpRequest) -> BrowserSession.Way:
    """How the request's user has just come in."""
    found: BrowserSession.Way = getattr(request, "_way_in", Way.OTHER)
    return found


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # the rule of the address let nobody else in
    return request.user
