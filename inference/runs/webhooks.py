"""Who is told when a run ends: the address that its user gave, and the site's own.

The rows are made when the run is submitted, so that nothing has to happen in the transaction that ends it;
workers look for those of ended runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import logging
import socket
import ssl
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.db.models import F, Q
from django.utils import timezone

from inference import __version__
from inference.core.protocols import Json
from inference.models import Run, Webhook
from inference.runs.errors import ConfigError, RunStateError
from inference.runs.webhook_address import RIGHT, is_address, is_public, masked


@dataclass(frozen=True)
class VisibleWebhook:
    """A webhook for whoever may see its run: of the address the host alone, the rest may be a secret."""

    url: str
    attempts: int
    sent: datetime | None
    error: str


def arrange(run: Run, url: str) -> None:
    """Have this address ("" for none) told when the run ends, and the site's own. Raises `ConfigError`.

    Within the transaction that submits the run.
    """
    wanted = dict.fromkeys(each for each in (url and checked(url), settings.WEBHOOK) if each)
    Webhook.objects.bulk_create(Webhook(run=run, url=each) for each in wanted)


def replace(run: Run, url: str) -> None:
    """Have another address told, or none.

    Raises `ConfigError`, and `RunStateError` for a run that has ended.
    """
    wanted = url and checked(url)
    if run.state in Run.FINAL:
        raise RunStateError(run.name, run.get_state_display(), "given a webhook", "unfinished")
    run.webhooks.exclude(url=settings.WEBHOOK).delete()
    if wanted and wanted != settings.WEBHOOK:
        Webhook.objects.create(run=run, url=wanted)


def told_of(run: Run) -> list[VisibleWebhook]:
    """The webhooks of a run."""
    return [VisibleWebhook(masked(row.url), row.attempts, row.sent, row.error) for row in run.webhooks.all()]


def checked(url: str) -> str:
    """The address; raises `ConfigError` for one that nothing can be sent to.

    Its host is not looked up yet.
    """
    if not is_address(url):
        raise ConfigError(f"webhook: {url[:80]!r} is no address to send to; {RIGHT}")
    return url


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


TIME_OUT = 5.0
"""Seconds for connecting."""
ANSWER_TIME_OUT = 10.0
"""Seconds from then on for the whole answer, however slow: a worker that shall end waits for it."""


class DeliveryError(Exception):
    """A message was not taken; the text says why."""


def post(url: str, message: Json, internal: bool) -> None:
    """Send the message; raises `DeliveryError`. `internal`: it may go to an address that is not public."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        encrypted = parts.scheme == "https"
        port = parts.port or (443 if encrypted else 80)
    except ValueError:  # which quotes what may be secret
        raise DeliveryError(f"the address is none that can be sent to; {RIGHT}") from None
    kind = http.client.HTTPSConnection if encrypted else http.client.HTTPConnection
    connection = kind(host, port)
    deadline = threading.Timer(ANSWER_TIME_OUT, _cut_off, (connection,))
    deadline.daemon = True
    try:
        # Connected here: a host that is looked up again could have another address by then.
        plain = socket.create_connection((address_of(host, port, internal), port), TIME_OUT)
        connection.sock = _encrypted(plain, host) if encrypted else plain
        deadline.start()
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock.do_handshake()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": f"pmweb/{__version__}"}
        connection.request("POST", target, json.dumps(message).encode(), headers)
        status = connection.getresponse().status
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DeliveryError(f"{host} cannot be reached or does not answer: {error}") from error
    finally:
        deadline.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise DeliveryError(f"{host} answered with status {status}, where one from 200 to 299 is expected")


def _cut_off(connection: http.client.HTTPConnection) -> None:
    """Whoever waits for an answer gets none."""
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def _encrypted(plain: socket.socket, host: str) -> ssl.SSLSocket:
    try:
        context = ssl.create_default_context()
        return context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    except (OSError, ValueError):
        plain.close()
        raise


def address_of(host: str, port: int, internal: bool) -> str:
    """An address of the host that may be connected to.

    Raises `DeliveryError`, and `OSError` for an unknown host.
    """
    found = [entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    allowed = [str(each) for each in found if internal or is_public(str(each))]
    if not allowed:
        raise DeliveryError(
            f"{host} is not a public address: PMWEB_WEBHOOK_INTERNAL=1 lets webhooks be sent to internal ones"
        )
    return allowed[0]
