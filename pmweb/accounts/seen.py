"""When, and from where, sessions were used last: kept in memory, and written down once a minute.

Not by the request itself: that would make readers wait for whoever writes to the database.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from pmweb.accounts import audit, known_networks, sessions
from pmweb.accounts.audit import Action
from pmweb.environment import WEB_PROCESS
from pmweb.middleware import Answer
from pmweb.models import BrowserSession

logger = logging.getLogger(__name__)

EVERY_SECONDS = 60.0


@dataclass(frozen=True)
class Use:
    """The last request of a session."""

    user_id: int
    at: datetime
    address: str


class LastUses:
    """Those of this process that are not written down yet."""

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
            use = Use(user.pk, timezone.now(), sessions.address_of(request))
            USES.note(sessions.key_of(request), use, later=WEB_PROCESS in os.environ)
        return response

    return middleware


def _write(session: str, use: Use) -> None:
    row = BrowserSession.objects.filter(session=session).select_related("user").first()
    if row is None or row.user_id != use.user_id:  # it has ended meanwhile
        return
    BrowserSession.objects.filter(pk=row.pk, last_seen__lt=use.at).update(
        last_seen=use.at, last_address=use.address
    )
    if use.address != row.last_address and known_networks.is_new(row.user, use.address):
        audit.record(
            row.user, Action.CHANGED, kind="session", detail=f"used {known_networks.NEW}, {use.address}"
        )
