"""Wakes the WebSocket consumers of a web process when a run's journal has grown.

One task per process polls all watched runs in one query, at least once a second while there are
subscriptions, and at once after a wake-up. Consumers read the events from the journal themselves: none can be
lost or come out of order, and a slow browser gets more events at a time.
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

POLL_INTERVAL = 0.5  # seconds
_MIN_INTERVAL = 0.1  # seconds, also at frequent wake-ups
_LIST_LIMIT = 200  # runs in a live list, the newest
_SUMMARY_FIELDS = ("id", "name", "kind", "state", "wanted", "progress", "error")


def detached_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task that outlives the request which starts it, in a context of its own.

    In the context of a request, it could not query the database after the end of that request.
    """
    return asyncio.create_task(work, context=Context())


class RunSubscription:
    """A consumer's subscription to one run, or (`run_id` None) to the list of runs."""

    def __init__(self, run_id: int | None) -> None:
        self.run_id = run_id
        self.woken = asyncio.Event()
        self.is_deleted = False

    async def wait_for_news(self) -> None:
        """Wait for new events since the last call, or for the run's deletion."""
        await self.woken.wait()
        self.woken.clear()


class Watcher:
    """Polls runs for all subscriptions of one event loop."""

    def __init__(self) -> None:
        self.summaries: dict[int, Json] = {}
        self._subscriptions: set[RunSubscription] = set()
        self._last_numbers: dict[int, int] = {}
        self._newest_id = 0
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, run_id: int | None) -> RunSubscription:
        """Add a subscription, and wake it once, so that its consumer reads the present state."""
        subscription = RunSubscription(run_id)
        subscription.woken.set()
        self._subscriptions.add(subscription)
        self._wakeup.set()
        if self._task is None or self._task.done():
            self._task = detached_task(self._poll_until_unused())
        return subscription

    def remove(self, subscription: RunSubscription) -> None:
        """Remove a subscription; the task ends after the last one."""
        self._subscriptions.discard(subscription)
        self._wakeup.set()

    async def _poll_until_unused(self) -> None:
        listener = asyncio.create_task(wakeups.listen(wakeups.NEWS, self._wakeup))
        try:
            while self._subscriptions:
                self._wakeup.clear()
                await self._poll()
                await asyncio.sleep(_MIN_INTERVAL)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wakeup.wait(), POLL_INTERVAL)
        finally:
            listener.cancel()

    async def _poll(self) -> None:
        try:
            await self._poll_runs()
            if any(subscription.run_id is None for subscription in self._subscriptions):
                await self._poll_list()
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)

    async def _poll_runs(self) -> None:
        run_ids = {
            subscription.run_id for subscription in self._subscriptions if subscription.run_id is not None
        }
        rows = Run.objects.filter(pk__in=run_ids).values_list("pk", "next_seq")
        numbers = await database_sync_to_async(lambda: dict(rows))()
        for subscription in list(self._subscriptions):
            run_id = subscription.run_id
            if run_id is None or run_id not in run_ids:
                continue
            subscription.is_deleted = run_id not in numbers
            if subscription.is_deleted or numbers[run_id] != self._last_numbers.get(run_id):
                subscription.woken.set()
        self._last_numbers = numbers

    async def _poll_list(self) -> None:
        summaries = await database_sync_to_async(self._read_summaries)()
        if summaries != self.summaries:
            self.summaries = summaries
            for subscription in self._subscriptions:
                if subscription.run_id is None:
                    subscription.woken.set()

    def _read_summaries(self) -> dict[int, Json]:
        """Unfinished runs, those of the last poll, and those that were submitted since; at most 200."""
        condition = Q(state__in=Run.UNFINISHED)
        if self._newest_id:  # at the first poll, the page has the runs that ended earlier
            condition |= Q(pk__in=list(self.summaries)) | Q(pk__gt=self._newest_id)
        newest = Run.objects.order_by("-id").values_list("id", flat=True).first()
        rows = Run.objects.filter(condition).order_by("-id").values(*_SUMMARY_FIELDS)[:_LIST_LIMIT]
        summaries = {row["id"]: {**row, "error": row["error"].partition("\n")[0]} for row in rows}
        self._newest_id = max(self._newest_id, newest or 0, 1)
        return summaries


_watchers: WeakKeyDictionary[asyncio.AbstractEventLoop, Watcher] = WeakKeyDictionary()


def shared_watcher() -> Watcher:
    """The watcher of the running event loop, created at the first call."""
    loop = asyncio.get_running_loop()
    watcher = _watchers.get(loop)
    if watcher is None:
        watcher = _watchers[loop] = Watcher()
    return watcher
