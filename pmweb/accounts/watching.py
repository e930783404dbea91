"""Whether the sessions and tokens behind open connections still stand: asked for all together, once a second.

Connections are WebSockets, and answers of the API that go on for long.
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

LOOK_EVERY = 1.0


@dataclass(eq=False)
class SessionVisit:
    """A connection of somebody who is logged in; `over` is set when they may not have it any longer."""

    session: str  # its digest (`sessions.digest_of`)
    user_id: int
    password: str  # its hash: another one ends the sessions of the one before
    needs: AccessLevel
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class TokenVisit:
    """A connection of a program that only reads, which every token that is valid may do."""

    digest: str
    over: asyncio.Event = field(default_factory=asyncio.Event)


Visit = SessionVisit | TokenVisit


class Visits:
    """The task that looks, for all connections of one event loop."""

    def __init__(self) -> None:
        self._open: set[Visit] = set()
        self._task: asyncio.Task[None] | None = None

    def begin(self, visit: Visit) -> None:
        self._open.add(visit)
        if self._task is None or self._task.done():
            self._task = detached_task(self._look_again_and_again())

    def end(self, visit: Visit) -> None:
        """Watch it no longer; without any the task ends by itself."""
        self._open.discard(visit)

    async def _look_again_and_again(self) -> None:
        while self._open:
            await asyncio.sleep(LOOK_EVERY)
            try:
                over = await database_sync_to_async(_over)(list(self._open))
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
                continue
            for visit in over:
                visit.over.set()


def _over(visits: list[Visit]) -> list[Visit]:
    """Those whose session, token or account does not let them go on; three queries at most."""
    sessions = [each for each in visits if isinstance(each, SessionVisit)]
    tokens = [each for each in visits if isinstance(each, TokenVisit)]
    return [*(_over_sessions(sessions) if sessions else ()), *(_over_tokens(tokens) if tokens else ())]


def _over_sessions(visits: list[SessionVisit]) -> list[SessionVisit]:
    keys, ids = {each.session for each in visits}, {each.user_id for each in visits}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True))
    users = User.objects.select_related("account").in_bulk(ids)
    return [each for each in visits if each.session not in sessions or not _may(each, users)]


def _over_tokens(visits: list[TokenVisit]) -> list[TokenVisit]:
    valid = api_tokens.valid_tokens().filter(digest__in={each.digest for each in visits})
    digests = set(valid.values_list("digest", flat=True))
    return [each for each in visits if each.digest not in digests]


def _may(visit: SessionVisit, users: dict[int, User]) -> bool:
    user = users.get(visit.user_id)
    return user is not None and user.password == visit.password and level_of(user) >= visit.needs


_visits: WeakKeyDictionary[asyncio.AbstractEventLoop, Visits] = WeakKeyDictionary()


def shared_visits() -> Visits:
    """Those of this process, that is, of the running event loop."""
    return _visits.setdefault(asyncio.get_running_loop(), Visits())


@contextmanager
def watched(visit: Visit) -> Iterator[Visit]:
    """While this lasts, in an event loop, the connection is watched."""
    visits = shared_visits()
    visits.begin(visit)
    try:
        yield visit
    finally:
        visits.end(visit)
