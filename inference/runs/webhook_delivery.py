"""Telling the webhooks of ended runs: each attempt by one worker, again later if it fails.

None waits for another: attempts go on side by side, and of those under way only so many are at one host, so
that one which does not answer leaves room for all others.

Users may enter public addresses alone, unless the setting `WEBHOOK_INTERNAL` allows others or the site's
administrator has entered the address.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import urlsplit

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.db.models import F, Q
from django.utils import timezone

from inference.core.protocols import Json
from inference.models import Run, Webhook
from inference.runs.webhook_posting import DeliveryError, post

logger = logging.getLogger(__name__)

LOOK_EVERY = 2.0
WAITS = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1))
"""Before the second, third, … attempt; after the one that follows the last wait it is given up."""

AT_ONCE = 32
AT_ONE_HOST = 4
"""Attempts of one worker that may be under way, at all and at one host."""

_ERROR_LENGTH = 300


async def deliver_for_ever() -> None:
    """Look for ended runs whose webhooks have not been told, until cancelled.

    Then what is under way is waited for: what was taken is noted, so that it is not told twice.
    """
    deliveries = Deliveries()
    try:
        while True:
            try:
                await deliveries.begin()
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
            await asyncio.sleep(LOOK_EVERY)
    finally:
        await deliveries.end()


class Deliveries:
    """The attempts of one worker that are under way."""

    def __init__(self) -> None:
        self._under_way: dict[asyncio.Task[None], str] = {}
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook")

    async def begin(self) -> None:
        """Begin with all that are due and have room, and come back at once. Raises `OperationalError`."""
        hosts = Counter(self._under_way.values())
        for row in await database_sync_to_async(_claimed)(hosts):
            task = asyncio.create_task(self._attempt(row))
            self._under_way[task] = _host(row.url)
            task.add_done_callback(self._under_way.pop)

    async def end(self) -> None:
        """Wait for those that are under way."""
        await asyncio.gather(*self._under_way)
        self._threads.shutdown(wait=False)

    async def _attempt(self, row: Webhook) -> None:
        """Whatever is wrong with one of them, the others are told."""
        try:
            await self._deliver(row)
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
        except Exception:  # it is due again later, and given up in the end, as one that nobody answers
            logger.exception("run %s: telling its webhook failed", row.run_id)

    async def _deliver(self, row: Webhook) -> None:
        message = await database_sync_to_async(_message)(row)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads, post, row.url, message, _may_be_internal(row.url))
        except DeliveryError as error:
            logger.warning("run %s: webhook not told: %s", row.run_id, error)
            await database_sync_to_async(_failed)(row, str(error))
        else:
            await database_sync_to_async(_sent)(row)


def _claimed(under_way: Counter[str]) -> list[Webhook]:
    """Those to be told now, each claimed for this process: its next attempt is due only later.

    `under_way`: how many attempts are at each host; what has no room beside them stays due.
    """
    now = timezone.now()
    due = Q(due__isnull=True) | Q(due__lte=now)
    rows = Webhook.objects.filter(due, sent=None, attempts__lte=len(WAITS), run__state__in=Run.FINAL)
    hosts, claimed = under_way.copy(), []
    for row in list(rows.select_related("run").order_by("id")):
        host = _host(row.url)
        if hosts.total() >= AT_ONCE:
            break
        if hosts[host] >= AT_ONE_HOST:
            continue
        wait = WAITS[min(row.attempts, len(WAITS) - 1)]
        mine = Webhook.objects.filter(pk=row.pk, attempts=row.attempts, sent=None)
        if mine.update(attempts=F("attempts") + 1, due=now + wait):
            claimed.append(row)
            hosts[host] += 1
    return claimed


def _host(url: str) -> str:
    """At which host and port the attempt is; "" for an address that makes no sense."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}"
    except ValueError:
        return ""


def _message(row: Webhook) -> Json:
    run = row.run
    path = f"/runs/{run.pk}/"
    return {
        "event": "run-ended",
        "run": run.pk,
        "name": run.name,
        "kind": run.kind,
        "state": run.state,
        "url": f"{settings.URL}{path}",
        "finished": None if run.finished is None else run.finished.isoformat(),
        "error": run.error.partition("\n")[0],
        "text": f"{run.name}: {run.state}",
    }


def _sent(row: Webhook) -> None:
    Webhook.objects.filter(pk=row.pk).update(sent=timezone.now(), error="")


def _failed(row: Webhook, error: str) -> None:
    Webhook.objects.filter(pk=row.pk).update(error=error[:_ERROR_LENGTH])


def _may_be_internal(url: str) -> bool:
    return settings.WEBHOOK_INTERNAL or url == settings.WEBHOOK
