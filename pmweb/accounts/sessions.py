"""The sessions of people: kept under a hash of their key, begun, confirmed, used, and ended.

Whoever has the cookie of a session that ended is nobody; open connections are closed within a second
(`watching`). Each end is noted in the audit log. A session alone, which may have been left open or stolen,
makes no tokens, links or accounts: its user has to have proved lately who they are.
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
"""For so long it counts that a user has proved who they are."""

LARGEST_FORM = 64 << 10
"""Bytes of what a form has sent that are kept."""

EVERY_SECONDS = 60.0
"""How often the last uses of sessions are written down."""

_AT_ONCE = 500
_KEY_LENGTH = 40
_CONFIRMED, _BY_LINK, _ONWARD, _SENT = "shown-at", "by-link-at", "confirm-for", "confirm-form"


def digest_of(key: str) -> str:
    """Under what the session with this key stands in the database.

    Keys are random enough (165 bits) for a plain hash, of which as much is kept (160 bits) as the column of
    Django's table holds.
    """
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:_KEY_LENGTH]


class SessionStore(db.SessionStore):
    """Django's own, except that no key reaches the database.

    The key in a browser's cookie is all that it takes to be somebody: whoever reads the database, or a
    back-up, cannot log in with what is there.
    """

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
        """Whether there is such a session, and be it over."""
        return super().exists(digest_of(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(digest_of(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """The row to be saved."""
        row = super().create_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        row = await super().acreate_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """End this session, or the one with that key."""
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
    """Under what the request's session stands in the database; "" where it has none."""
    key = request.session.session_key
    return digest_of(key) if key else ""


def address_of(request: HttpRequest) -> str:
    """Where a request comes from."""
    return str(request.META.get("REMOTE_ADDR", ""))[:64]


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # the rule of the address let nobody else in
    return request.user


def of(user: User) -> QuerySet[BrowserSession]:
    """Those of a person that go on, the one seen last first."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return BrowserSession.objects.filter(user=user, session__in=alive)


def connect() -> None:
    """Note log-ins and log-outs from now on; once per process."""
    user_logged_in.connect(_logged_in, dispatch_uid="audit")
    user_logged_out.connect(_logged_out, dispatch_uid="audit")


def let_in(request: HttpRequest, user: User, way: BrowserSession.Way, onward: str) -> HttpResponseRedirect:
    """Begin a session, and lead on to an address."""
    request._way_in = way  # type: ignore[attr-defined]  # the signal of `login` has no room for it
    login(request, user)
    response = HttpResponseRedirect(onward)
    attempts.remember(request, response, user)
    return response


def _logged_in(request: HttpRequest, user: User, **_: Any) -> None:
    way: BrowserSession.Way = getattr(request, "_way_in", Way.OTHER)
    confirm(request, by_link=way == Way.LINK)
    _begin(request, user, way)
    said = [f"by {way.label}"] if way else []
    if attempts.is_new_network(user, address_of(request)):
        said.append(attempts.NEW)
    audit.record(user, Action.LOGGED_IN, detail=", ".join(said))


def _begin(request: HttpRequest, user: User, way: BrowserSession.Way) -> None:
    """Note what is known of a session; what was known of others of the user that are over is swept away."""
    if not request.session.session_key:  # the one before was another person's, and is gone
        request.session.create()
    _sweep(user)
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


def rename(before: str, request: HttpRequest) -> None:
    """Note that the request's session had another key, the one that `key_of` gave `before`."""
    BrowserSession.objects.filter(session=before).update(session=key_of(request))


def _logged_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        BrowserSession.objects.filter(session=key_of(request)).delete()
        audit.record(user, Action.LOGGED_OUT)


@transaction.atomic
def end_all_of(user: User, but: str = "") -> int:
    """Log the user out everywhere, but for the session of this key (`key_of`); how many sessions there were.

    Whose a session is stands inside it, and only that is sure to be complete: so all that have not run out
    are read, some ten microseconds for each.
    """
    owner = str(user.pk)
    rows = Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=_AT_ONCE)
    keys = [
        row.session_key
        for row in rows
        if row.session_key != but and row.get_decoded().get(SESSION_KEY) == owner
    ]
    for start in range(0, len(keys), _AT_ONCE):
        Session.objects.filter(session_key__in=keys[start : start + _AT_ONCE]).delete()
    _sweep(user)
    return len(keys)


@transaction.atomic
def end_session(row: BrowserSession, by: Any = None) -> None:
    Session.objects.filter(session_key=row.session).delete()
    row.delete()
    detail = f"ended, from {row.address}"
    audit.record(by, Action.LOGGED_OUT, kind="session", name=str(row.user), detail=detail)


@transaction.atomic
def end_other_sessions(request: HttpRequest, user: User) -> int:
    """All sessions of the request's user but that of the request; how many there were."""
    number = end_all_of(user, but=key_of(request))
    if number:
        audit.record(user, Action.LOGGED_OUT, user, detail=f"sessions ended: {number} other")
    return number


@transaction.atomic
def log_out(user: User, by: Any = None) -> int:
    """All sessions of a user; how many there were. Tokens, links and the password stay."""
    number = end_all_of(user)
    audit.record(by, Action.LOGGED_OUT, user, detail=f"sessions ended: {number}")
    return number


def _sweep(user: User) -> None:
    alive = Session.objects.values("session_key")
    BrowserSession.objects.filter(user=user).exclude(session__in=alive).delete()


def confirm(request: HttpRequest, *, by_link: bool = False) -> None:
    """Note that the session's user has just proved who they are."""
    request.session[_CONFIRMED] = time.time()
    if by_link:
        request.session[_BY_LINK] = time.time()


def is_recent(request: HttpRequest) -> bool:
    """Whether that was within `WINDOW`."""
    return _within_window(request, _CONFIRMED)


def may_replace_password(request: HttpRequest) -> bool:
    """Whether a link has logged them in within `WINDOW`: then the old password, forgotten perhaps, is not
    asked for.
    """
    return _within_window(request, _BY_LINK)


def password_replaced(request: HttpRequest) -> None:
    """The link has served its purpose."""
    request.session.pop(_BY_LINK, None)


@dataclass(frozen=True)
class SentForm:
    """What somebody has sent to an address before they have proved who they are."""

    path: str
    fields: list[tuple[str, str]]


def keep_sent_form(request: HttpRequest) -> None:
    """Keep in the session what a POST has sent, to be sent again; whatever was kept before goes."""
    request.session.pop(_SENT, None)
    sent = request.POST.copy()
    sent.pop("csrfmiddlewaretoken", None)
    body = sent.urlencode()
    if sent and len(body) <= LARGEST_FORM:
        request.session[_SENT] = {"path": request.get_full_path(), "body": body, "at": time.time()}


def has_sent_form(request: HttpRequest) -> bool:
    return _SENT in request.session


def pop_sent_form(request: HttpRequest) -> SentForm | None:
    """What was sent, once, and within `WINDOW`; None for nothing."""
    form = request.session.pop(_SENT, None)
    if form is None or time.time() - form["at"] > WINDOW.total_seconds():
        return None
    several = QueryDict(form["body"]).lists()
    return SentForm(form["path"], [(name, str(value)) for name, values in several for value in values])


def keep_destination(request: HttpRequest, path: str) -> None:
    """Keep in mind where somebody is to go who fetches a link now to prove who they are."""
    request.session[_ONWARD] = path


def pop_destination(request: HttpRequest) -> str:
    """Where they were to go, once; "" for nowhere."""
    return str(request.session.pop(_ONWARD, ""))


def _within_window(request: HttpRequest, key: str) -> bool:
    at = request.session.get(key)
    return isinstance(at, float) and 0 <= time.time() - at < WINDOW.total_seconds()


@dataclass(frozen=True)
class Use:
    """The last request of a session."""

    user_id: int
    at: datetime
    address: str


class LastUses:
    """Those of this process that are not written down yet: kept in memory, and written once a minute.

    Not by the request itself: that would make readers wait for whoever writes to the database.
    """

    def __init__(self) -> None:
        self._uses: dict[str, Use] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def note(self, session: str, use: Use, *, later: bool) -> None:
        """One more request of a session, by its key in the database; `later`: write it down by itself."""
        with self._lock:
            self._uses[session] = use
            if later and self._timer is None:
                self._timer = threading.Timer(EVERY_SECONDS, self._write_down)
                self._timer.daemon = True
                self._timer.start()

    def write(self) -> None:
        """Write down all that was noted."""
        with self._lock:
            uses, self._uses, self._timer = self._uses, {}, None
        for session, use in uses.items():
            _write(session, use)

    def _write_down(self) -> None:
        try:
            self.write()
        except DatabaseError as error:
            logger.warning("when sessions were used cannot be written down: %s", error)
        finally:
            connections.close_all()


USES = LastUses()


def noting_use(answer: Answer) -> Answer:
    """Middleware: requests of those who are logged in are noted, where something asked who they are."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        user = getattr(request, "_cached_user", None)
        if user is not None and user.is_authenticated and request.session.session_key:
            use = Use(user.pk, timezone.now(), address_of(request))
            USES.note(key_of(request), use, later=WEB_PROCESS in os.environ)
        return response

    return middleware


def _write(session: str, use: Use) -> None:
    row = BrowserSession.objects.filter(session=session).select_related("user").first()
    if row is None or row.user_id != use.user_id:  # it has ended meanwhile
        return
    BrowserSession.objects.filter(pk=row.pk, last_seen__lt=use.at).update(
        last_seen=use.at, last_address=use.address
    )
    if use.address != row.last_address and attempts.is_new_network(row.user, use.address):
        detail = f"used {attempts.NEW}, {use.address}"
        audit.record(row.user, Action.CHANGED, kind="session", detail=detail)
