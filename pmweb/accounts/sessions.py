"""Sessions: stored under a hash of their key; beginning, confirmation, last use, and end.

Connections of an ended session are closed within a second (`watching`). Every end is recorded in the audit
log. A session may be left open or stolen, so creating tokens, links or accounts needs a recent confirmation
of the user's identity.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY, login, user_logged_in, user_logged_out
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connections, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.utils import timezone

from pmweb.accounts import attempts, audit
from pmweb.accounts.audit import Action
from pmweb.environment import WEB_PROCESS
from pmweb.middleware import Answer
from pmweb.models import BrowserSession

logger = logging.getLogger(__name__)

Way = BrowserSession.Way

WINDOW = timedelta(minutes=15)
"""Time after a log-in or confirmation within which the user's identity counts as confirmed."""

MAX_FORM_BYTES = 64 << 10
"""Largest sent form that is stored during a confirmation."""

WRITE_INTERVAL = 60.0
"""Seconds between writes of the last uses of sessions."""

_BATCH_SIZE = 500
_KEY_LENGTH = 40
_CONFIRMED, _BY_LINK, _ONWARD, _SENT = "shown-at", "by-link-at", "confirm-for", "confirm-form"


def digest_of(key: str) -> str:
    """The stored key of the session with this key.

    Keys have 165 random bits, enough for a plain hash; it is cut to 160 bits, the width of Django's column.
    """
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:_KEY_LENGTH]


class SessionStore(db.SessionStore):
    """Django's store with hashed keys: a reader of the database or of a back-up cannot use them."""

    def _get_session_from_db(self) -> Any:
        row = self._alive().first()
        if row is None:
            self._session_key = None
        return row

    async def _aget_session_from_db(self) -> Any:
        row = await self._alive().afirst()
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        """Whether there is a session with this key, expired or not."""
        return super().exists(digest_of(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(digest_of(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        row = await super().acreate_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete this session, or the one with that key."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(digest_of(key))

    async def adelete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            await super().adelete(digest_of(key))

    def _alive(self) -> Any:
        return self.model.objects.filter(
            session_key=digest_of(str(self.session_key)), expire_date__gt=timezone.now()
        )


def key_of(request: HttpRequest) -> str:
    """The stored key of the request's session; "" without one."""
    key = request.session.session_key
    return digest_of(key) if key else ""


def address_of(request: HttpRequest) -> str:
    """The visitor's address, cut to 64 characters."""
    return str(request.META.get("REMOTE_ADDR", ""))[:64]


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # the rule of the address admits only users
    return request.user


def sessions_of(user: User) -> QuerySet[BrowserSession]:
    """The user's sessions that have not expired, the last used first."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return BrowserSession.objects.filter(user=user, session__in=alive)


def connect() -> None:
    """Connect the signals of log-in and log-out; repeated calls have no effect."""
    user_logged_in.connect(_record_log_in, dispatch_uid="audit")
    user_logged_out.connect(_record_log_out, dispatch_uid="audit")


def log_in(request: HttpRequest, user: User, way: BrowserSession.Way, onward: str) -> HttpResponseRedirect:
    """Log the user in, and redirect to an address."""
    request._way_in = way  # type: ignore[attr-defined]  # the signal of `login` has no such argument
    login(request, user)
    response = HttpResponseRedirect(onward)
    attempts.remember_browser(request, response, user)
    return response


def _record_log_in(request: HttpRequest, user: User, **_: Any) -> None:
    way: BrowserSession.Way = getattr(request, "_way_in", Way.OTHER)
    confirm(request, by_link=way == Way.LINK)
    _begin(request, user, way)
    details = [f"by {way.label}"] if way else []
    if attempts.is_new_network(user, address_of(request)):
        details.append(attempts.NEW_NETWORK)
    audit.record(user, Action.LOGGED_IN, detail=", ".join(details))


def _begin(request: HttpRequest, user: User, way: BrowserSession.Way) -> None:
    """Store the facts of a new session; deletes those of the user's ended ones."""
    if not request.session.session_key:  # Django flushed the session of another user
        request.session.create()
    _delete_ended(user)
    now, address = timezone.now(), address_of(request)
    facts = {
        "user": user,
        "way": way,
        "created": now,
        "address": address,
        "browser": str(request.META.get("HTTP_USER_AGENT", "")).replace("\0", "")[:300],
        "last_seen": now,
        "last_address": address,
    }
    BrowserSession.objects.update_or_create(session=key_of(request), defaults=facts)


def update_key(before: str, request: HttpRequest) -> None:
    """Update the stored facts after a change of the session's key; `before` is the old `key_of`."""
    BrowserSession.objects.filter(session=before).update(session=key_of(request))


def _record_log_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        BrowserSession.objects.filter(session=key_of(request)).delete()
        audit.record(user, Action.LOGGED_OUT)


@transaction.atomic
def end_all_of(user: User, except_key: str = "") -> int:
    """End all sessions of a user but the one with the stored key `except_key`; returns their number.

    The owner is inside a session's data, and only that is reliable: so all unexpired sessions are decoded, in
    about 10 µs each.
    """
    owner = str(user.pk)
    rows = Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=_BATCH_SIZE)
    keys = [
        row.session_key
        for row in rows
        if row.session_key != except_key and row.get_decoded().get(SESSION_KEY) == owner
    ]
    for start in range(0, len(keys), _BATCH_SIZE):
        Session.objects.filter(session_key__in=keys[start : start + _BATCH_SIZE]).delete()
    _delete_ended(user)
    return len(keys)


@transaction.atomic
def end_session(row: BrowserSession, by: Any = None) -> None:
    Session.objects.filter(session_key=row.session).delete()
    row.delete()
    detail = f"ended, from {row.address}"
    audit.record(by, Action.LOGGED_OUT, kind="session", name=str(row.user), detail=detail)


@transaction.atomic
def end_other_sessions(request: HttpRequest, user: User) -> int:
    """End all sessions of the user but the request's; returns their number."""
    number = end_all_of(user, except_key=key_of(request))
    if number:
        audit.record(user, Action.LOGGED_OUT, user, detail=f"sessions ended: {number} other")
    return number


@transaction.atomic
def log_out(user: User, by: Any = None) -> int:
    """End all sessions of a user; returns their number. Tokens, links and the password stay valid."""
    number = end_all_of(user)
    audit.record(by, Action.LOGGED_OUT, user, detail=f"sessions ended: {number}")
    return number


def _delete_ended(user: User) -> None:
    alive = Session.objects.values("session_key")
    BrowserSession.objects.filter(user=user).exclude(session__in=alive).delete()


def confirm(request: HttpRequest, *, by_link: bool = False) -> None:
    """Store that the user's identity was confirmed now; `by_link`: by a log-in link."""
    request.session[_CONFIRMED] = time.time()
    if by_link:
        request.session[_BY_LINK] = time.time()


def is_recent(request: HttpRequest) -> bool:
    """Whether the user's identity was confirmed within `WINDOW`."""
    return _within_window(request, _CONFIRMED)


def may_replace_password(request: HttpRequest) -> bool:
    """Whether the user logged in by link within `WINDOW`: a new password then does not need the old one."""
    return _within_window(request, _BY_LINK)


def password_replaced(request: HttpRequest) -> None:
    """End the permission of `may_replace_password`."""
    request.session.pop(_BY_LINK, None)


@dataclass(frozen=True)
class SentForm:
    """A form that was sent before the user's identity was confirmed."""

    path: str
    fields: list[tuple[str, str]]


def keep_sent_form(request: HttpRequest) -> None:
    """Store the POST's form in the session in place of an earlier one; none above `MAX_FORM_BYTES`."""
    request.session.pop(_SENT, None)
    sent = request.POST.copy()
    sent.pop("csrfmiddlewaretoken", None)
    body = sent.urlencode()
    if sent and len(body) <= MAX_FORM_BYTES:
        request.session[_SENT] = {"path": request.get_full_path(), "body": body, "at": time.time()}


def has_sent_form(request: HttpRequest) -> bool:
    return _SENT in request.session


def pop_sent_form(request: HttpRequest) -> SentForm | None:
    """Remove and return the stored form; None without one, or after `WINDOW`."""
    form = request.session.pop(_SENT, None)
    if form is None or time.time() - form["at"] > WINDOW.total_seconds():
        return None
    several = QueryDict(form["body"]).lists()
    return SentForm(form["path"], [(name, str(value)) for name, values in several for value in values])


def keep_destination(request: HttpRequest, path: str) -> None:
    """Store the address to go to after a confirmation by link."""
    request.session[_ONWARD] = path


def pop_destination(request: HttpRequest) -> str:
    """Remove and return the stored address; "" without one."""
    return str(request.session.pop(_ONWARD, ""))


def _within_window(request: HttpRequest, key: str) -> bool:
    at = request.session.get(key)
    return isinstance(at, float) and 0 <= time.time() - at < WINDOW.total_seconds()


@dataclass(frozen=True)
class SessionUse:
    user_id: int
    at: datetime
    address: str


class LastUses:
    """Last uses of sessions in memory, written to the database once a minute.

    Requests do not write them: readers would wait for the database's writers.
    """

    def __init__(self) -> None:
        self._uses: dict[str, SessionUse] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def note(self, session: str, use: SessionUse, *, later: bool) -> None:
        """Record a request of a session, by its stored key; `later` starts the timer of the next write."""
        with self._lock:
            self._uses[session] = use
            if later and self._timer is None:
                self._timer = threading.Timer(WRITE_INTERVAL, self._write_down)
                self._timer.daemon = True
                self._timer.start()

    def write(self) -> None:
        with self._lock:
            uses, self._uses, self._timer = self._uses, {}, None
        for session, use in uses.items():
            _write(session, use)

    def _write_down(self) -> None:
        try:
            self.write()
        except DatabaseError as error:
            logger.warning("the last uses of sessions cannot be written: %s", error)
        finally:
            connections.close_all()


USES = LastUses()


def record_use(answer: Answer) -> Answer:
    """Middleware: record the requests of logged-in users, if the user was looked up."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        user = getattr(request, "_cached_user", None)
        if user is not None and user.is_authenticated and request.session.session_key:
            use = SessionUse(user.pk, timezone.now(), address_of(request))
            USES.note(key_of(request), use, later=WEB_PROCESS in os.environ)
        return response

    return middleware


def _write(session: str, use: SessionUse) -> None:
    row = BrowserSession.objects.filter(session=session).select_related("user").first()
    if row is None or row.user_id != use.user_id:  # it has ended meanwhile
        return
    BrowserSession.objects.filter(pk=row.pk, last_seen__lt=use.at).update(
        last_seen=use.at, last_address=use.address
    )
    if use.address != row.last_address and attempts.is_new_network(row.user, use.address):
        detail = f"used {attempts.NEW_NETWORK}, {use.address}"
        audit.record(row.user, Action.CHANGED, kind="session", detail=detail)
