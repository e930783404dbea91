"""Whether the sessions behind open connections still stand: asked for all of them together, once a second."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from pmweb.accounts.roles import Level, level_of

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0


@dataclass(eq=False)
class Visit:
    """A connection of somebody who is logged in; `over` is set when they may not have it any longer."""

    session_key: str
    user_id: int
    password: str  # its hash: another one ends the sessions of the one before
    needs: Level
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Visits:
    """The task that looks, for all connections of one event loop."""

    def __init__(self) -> None:
        self._open: set[Visit] = set()
        self._task: asyncio.Task[None] | None = None

    def begin(self, session_key: str, user: User, needs: Level) -> Visit:
        """Watch a connection."""
        visit = Visit(session_key, user.pk, user.password, needs)
        self._open.add(visit)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_again_and_again())
        return visit

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
    """Those whose session or account does not let them go on; two queries."""
    keys, ids = {each.session_key for each in visits}, {each.user_id for each in visits}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = set(alive.values_list("session_key", flat=True))
    users = User.objects.select_related("account").in_bulk(ids)
    return [each for each in visits if each.session_key not in sessions or not _may(each, users)]


def _may(visit: Visit, users: dict[int, User]) -> bool:
    user = users.get(visit.user_id)
    return user is not None and user.password == visit.password and level_of(user) >= visit.needs


_visits: WeakKeyDictionary[asyncio.AbstractEventLoop, Visits] = WeakKeyDictionary()


def shared_visits() -> Visits:
    """Those of this process, that is, of the running event loop."""
    return _visits.setdefault(asyncio.get_running_loop(), Visits())
