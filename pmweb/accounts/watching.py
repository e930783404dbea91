"""Polls once a second whether the sessions and tokens of open connections are still valid.

Connections are WebSockets and streamed answers of the API.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from inference.runs.watcher import detached_task
from pmweb.accounts import api_tokens
from pmweb.accounts.roles import AccessLevel, level_of

logger = logging.getLogger(__name__)

POLL_INTERVAL = 1.0


@dataclass(eq=False)
class SessionVisit:
    """A connection of a session; `ended` is set when the session ends or the user's level falls below
    `needs`."""

    session: str  # its digest (`sessions.digest_of`)
    user_id: int
    password: str  # the user's password hash: a new password ends the sessions
    needs: AccessLevel
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class TokenVisit:
    """A connection of a token; every valid token may read."""

    digest: str
    ended: asyncio.Event = field(default_factory=asyncio.Event)


Visit = SessionVisit | TokenVisit


class Visits:
    """Polls for all connections of one event loop."""

    def __init__(self) -> None:
        self._open: set[Visit] = set()
        self._task: asyncio.Task[None] | None = None

    def begin(self, visit: Visit) -> None:
        self._open.add(visit)
        if self._task is None or self._task.done():
            self._task = detached_task(self._poll())

    def end(self, visit: Visit) -> None:
        """Stop watching a connection; the task ends after the last one."""
        self._open.discard(visit)

    async def _poll(self) -> None:
        while self._open:
            await asyncio.sleep(POLL_INTERVAL)
            try:
                ended = await database_sync_to_async(_ended_visits)(list(self._open))
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
                continue
            for visit in ended:
                visit.ended.set()


def _ended_visits(visits: list[Visit]) -> list[Visit]:
    """Connections whose session, token or account is not valid any more (three queries at most)."""
    sessions = [visit for visit in visits if isinstance(visit, SessionVisit)]
    tokens = [visit for visit in visits if isinstance(visit, TokenVisit)]
    return [*(_ended_sessions(sessions) if sessions else ()), *(_ended_tokens(tokens) if tokens else ())]


def _ended_sessions(visits: list[SessionVisit]) -> list[SessionVisit]:
    keys, ids = {visit.session for visit in visits}, {visit.user_id for visit in visits}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True))
    users = User.objects.select_related("account").in_bulk(ids)
    return [visit for visit in visits if visit.session not in sessions or not _is_permitted(visit, users)]


def _ended_tokens(visits: list[TokenVisit]) -> list[TokenVisit]:
    valid = api_tokens.valid_tokens().filter(digest__in={visit.digest for visit in visits})
    digests = set(valid.values_list("digest", flat=True))
    return [visit for visit in visits if visit.digest not in digests]


def _is_permitted(visit: SessionVisit, users: dict[int, User]) -> bool:
    user = users.get(visit.user_id)
    return user is not None and user.password == visit.password and level_of(user) >= visit.needs


_visits: WeakKeyDictionary[asyncio.AbstractEventLoop, Visits] = WeakKeyDictionary()


def shared_visits() -> Visits:
    """The watcher of the running event loop, created at the first call."""
    return _visits.setdefault(asyncio.get_running_loop(), Visits())


@contextmanager
def watch_visit(visit: Visit) -> Iterator[Visit]:
    """Context in which a connection is watched, inside an event loop."""
    visits = shared_visits()
    visits.begin(visit)
    try:
        yield visit
    finally:
        visits.end(visit)
