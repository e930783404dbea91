"""Tells the WebSocket consumers of one web process which runs have news.

One task per process looks at all watched runs in one query, at least once a second while anybody watches,
and at once when it is woken. It only wakes the consumers; each reads what it lacks from the journal,
so nothing can be lost or come out of order between the two, and a slow browser simply gets more at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from contextvars import Context
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.db import OperationalError
from django.db.models import Q

from inference.core.protocols import Json
from inference.models import Run
from inference.runs import wakeups

logger = logging.getLogger(__name__)

LOOK_EVERY = 0.5
_RINGS_APART = 0.1  # however often it rings
_LIST_LIMIT = 200
_SUMMARY_FIELDS = ("id", "name", "kind", "state", "wanted", "progress", "error")


def detached_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task for all connections of this event loop, in a context of its own.

    In that of the request that happens to begin it, it could ask the database for nothing once that is over.
    """
    return asyncio.create_task(work, context=Context())


class RunSubscription:
    """One consumer's wish to be woken: about one run, or (`run_id` None) about the list of runs."""

    def __init__(self, run_id: int | None) -> None:
        self.run_id = run_id
        self.woken = asyncio.Event()
        self.gone = False

    async def news(self) -> None:
        """Returns when there is something new since the last call, be it that the run is gone."""
        await self.woken.wait()
        self.woken.clear()


class Watcher:
    """The task that looks, for all watches of one event loop."""

    def __init__(self) -> None:
        self.summaries: dict[int, Json] = {}
        self._watches: set[RunSubscription] = set()
        self._seen: dict[int, int] = {}
        self._newest = 0
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, run_id: int | None) -> RunSubscription:
        """Start watching; the new watch is awake, so that its consumer reads once right away."""
        watch = RunSubscription(run_id)
        watch.woken.set()
        self._watches.add(watch)
        self._wakeup.set()
        if self._task is None or self._task.done():
            self._task = detached_task(self._look_for_news())
        return watch

    def remove(self, watch: RunSubscription) -> None:
        """Stop watching; without watches the task ends by itself."""
        self._watches.discard(watch)
        self._wakeup.set()

    async def _look_for_news(self) -> None:
        listening = asyncio.create_task(wakeups.listen(wakeups.NEWS, self._wakeup))
        try:
            while self._watches:
                self._wakeup.clear()
                await self._look()
                await asyncio.sleep(_RINGS_APART)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wakeup.wait(), LOOK_EVERY)
        finally:
            listening.cancel()

    async def _look(self) -> None:
        try:
            await self._look_at_runs()
            if any(watch.run_id is None for watch in self._watches):
                await self._look_at_list()
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)

    async def _look_at_runs(self) -> None:
        watched = {watch.run_id for watch in self._watches if watch.run_id is not None}
        rows = Run.objects.filter(pk__in=watched).values_list("pk", "next_seq")
        numbers = await database_sync_to_async(lambda: dict(rows))()
        for watch in list(self._watches):
            run_id = watch.run_id
            if run_id is None or run_id not in watched:
                continue
            watch.gone = run_id not in numbers
            if watch.gone or numbers[run_id] != self._seen.get(run_id):
                watch.woken.set()
        self._seen = numbers

    async def _look_at_list(self) -> None:
        fresh = await database_sync_to_async(self._read_summaries)()
        if fresh != self.summaries:
            self.summaries = fresh
            for watch in self._watches:
                if watch.run_id is None:
                    watch.woken.set()

    def _read_summaries(self) -> dict[int, Json]:
        """Active runs, those that were when we last looked, and those that came and went since."""
        wanted = Q(state__in=Run.UNFINISHED)
        if self._newest:  # at the first look, what has ended before is on the page already
            wanted |= Q(pk__in=list(self.summaries)) | Q(pk__gt=self._newest)
        newest = Run.objects.order_by("-id").values_list("id", flat=True).first()
        rows = Run.objects.filter(wanted).order_by("-id").values(*_SUMMARY_FIELDS)[:_LIST_LIMIT]
        summaries = {row["id"]: {**row, "error": row["error"].partition("\n")[0]} for row in rows}
        self._newest = max(self._newest, newest or 0, 1)
        return summaries


_watchers: WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher] = WeakKeyDictionary()


def shared_watcher() -> Watcher:
    """The one watcher of this process, that is, of the running event loop."""
    loop = asyncio.get_running_loop()
    watcher = _watchers.get(loop)
    if watcher is None:
        watcher = _watchers[loop] = Watcher()
    return watcher
