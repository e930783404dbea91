"""Webhooks: POST requests when a run ends, to the address of its user and to the site's own.

Rows are created when the run is submitted, so that the transaction that ends it stays short; workers poll for
rows of ended runs.
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
from inference.runs.webhook_address import EXPECTED_FORM, is_address, is_public, masked


@dataclass(frozen=True)
class VisibleWebhook:
    """A webhook as every reader of the run may see it: the address is masked, as its path may be a secret."""

    url: str
    attempts: int
    sent: datetime | None
    error: str


def create_webhooks(run: Run, url: str) -> None:
    """Create the webhooks of a run, in the transaction that submits it.

    Args:
        run: The new run.
        url: The user's address; "" for none. The site's own is added.

    Raises:
        ConfigError: The address is malformed.
    """
    addresses = dict.fromkeys(
        address for address in (url and validated_address(url), settings.WEBHOOK) if address
    )
    Webhook.objects.bulk_create(Webhook(run=run, url=address) for address in addresses)


def replace_webhook(run: Run, url: str) -> None:
    """Replace the user's address of a run; "" removes it.

    Raises:
        ConfigError: The address is malformed.
        RunStateError: The run has ended.
    """
    address = url and validated_address(url)
    if run.state in Run.FINAL:
        raise RunStateError(run.name, run.get_state_display(), "given a webhook", "unfinished")
    run.webhooks.exclude(url=settings.WEBHOOK).delete()
    if address and address != settings.WEBHOOK:
        Webhook.objects.create(run=run, url=address)


def visible_webhooks(run: Run) -> list[VisibleWebhook]:
    """The webhooks of a run, with masked addresses."""
    return [VisibleWebhook(masked(row.url), row.attempts, row.sent, row.error) for row in run.webhooks.all()]


def validated_address(url: str) -> str:
    """The URL itself; raises `ConfigError` if it is malformed. Its host is not resolved."""
    if not is_address(url):
        raise ConfigError(f"webhook: {url[:80]!r} is not an address to send to; expected: {EXPECTED_FORM}")
    return url


logger = logging.getLogger(__name__)

POLL_INTERVAL = 2.0  # seconds between looks for messages that are due
RETRY_DELAYS = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1))
"""Delays before the second, third, … attempt; the attempt after the last delay is the final one."""

MAX_CONCURRENT = 32  # calls, each with a thread that mostly waits
MAX_CONCURRENT_PER_HOST = 4
"""Concurrent attempts of one worker, in total and per host."""

_ERROR_LIMIT = 300  # characters, as in the column


async def deliver_webhooks() -> None:
    """Deliver the webhooks of ended runs until cancelled.

    On cancellation active attempts are completed: an unrecorded success would be sent twice.
    """
    deliveries = Deliveries()
    try:
        while True:
            try:
                await deliveries.start_due()
            except OperationalError as error:
                logger.warning("the database does not answer: %s", error)
            await asyncio.sleep(POLL_INTERVAL)
    finally:
        await deliveries.wait()


class Deliveries:
    """Active attempts of one worker."""

    def __init__(self) -> None:
        self._active: dict[asyncio.Task[None], str] = {}
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT, thread_name_prefix="webhook")

    async def start_due(self) -> None:
        """Start attempts that are due, within the limits of concurrency. Raises `OperationalError`."""
        hosts = Counter(self._active.values())
        for row in await database_sync_to_async(_claim_due)(hosts):
            task = asyncio.create_task(self._attempt(row))
            self._active[task] = _host(row.url)
            task.add_done_callback(self._active.pop)

    async def wait(self) -> None:
        await asyncio.gather(*self._active)
        self._threads.shutdown(wait=False)

    async def _attempt(self, row: Webhook) -> None:
        """Deliver one webhook; no error stops the others."""
        try:
            await self._deliver(row)
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
        except Exception:  # it is due again after its delay, like an address that does not answer
            logger.exception("run %s: sending its webhook failed", row.run_id)

    async def _deliver(self, row: Webhook) -> None:
        message = await database_sync_to_async(_message)(row)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._threads, post, row.url, message, _may_be_internal(row.url))
        except DeliveryError as error:
            logger.warning("run %s: webhook not delivered: %s", row.run_id, error)
            await database_sync_to_async(_mark_failed)(row, str(error))
        else:
            await database_sync_to_async(_mark_sent)(row)


def _claim_due(active: Counter[str]) -> list[Webhook]:
    """Claim webhooks that are due, by moving their next attempt into the future.

    `active`: active attempts per host; webhooks above the limits stay due.
    """
    now = timezone.now()
    due = Q(due__isnull=True) | Q(due__lte=now)
    rows = Webhook.objects.filter(due, sent=None, attempts__lte=len(RETRY_DELAYS), run__state__in=Run.FINAL)
    hosts, claimed = active.copy(), []
    for row in list(rows.select_related("run").order_by("id")):
        host = _host(row.url)
        if hosts.total() >= MAX_CONCURRENT:
            break
        if hosts[host] >= MAX_CONCURRENT_PER_HOST:
            continue
        delay = RETRY_DELAYS[min(row.attempts, len(RETRY_DELAYS) - 1)]
        claim = Webhook.objects.filter(pk=row.pk, attempts=row.attempts, sent=None)
        if claim.update(attempts=F("attempts") + 1, due=now + delay):
            claimed.append(row)
            hosts[host] += 1
    return claimed


def _host(url: str) -> str:
    """Host and port of an address; "" if it is malformed."""
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


def _mark_sent(row: Webhook) -> None:
    Webhook.objects.filter(pk=row.pk).update(sent=timezone.now(), error="")


def _mark_failed(row: Webhook, error: str) -> None:
    Webhook.objects.filter(pk=row.pk).update(error=error[:_ERROR_LIMIT])


def _may_be_internal(url: str) -> bool:
    return settings.WEBHOOK_INTERNAL or url == settings.WEBHOOK


CONNECT_TIMEOUT = 5.0
"""Seconds."""

ANSWER_TIMEOUT = 10.0
"""Seconds from the connection to the end of the answer: a worker that shall end waits for it."""


class DeliveryError(Exception):
    """A message was not delivered; the text says why."""


def post(url: str, message: Json, internal: bool) -> None:
    """Send the message as JSON.

    Args:
        url: Address of the webhook.
        message: Content.
        internal: Whether the host may have an address that is not public.

    Raises:
        DeliveryError: The host does not answer with a status from 200 to 299 in time, or is internal.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        encrypted = parts.scheme == "https"
        port = parts.port or (443 if encrypted else 80)
    except ValueError:  # its message quotes the address, which may be a secret
        raise DeliveryError(f"the address is malformed; expected: {EXPECTED_FORM}") from None
    kind = http.client.HTTPSConnection if encrypted else http.client.HTTPConnection
    connection = kind(host, port)
    deadline = threading.Timer(ANSWER_TIMEOUT, _shut_down, (connection,))
    deadline.daemon = True
    try:
        # Connect to the address that was checked: the host could resolve to another one a second time.
        plain = socket.create_connection((resolve(host, port, internal), port), CONNECT_TIMEOUT)
        connection.sock = _wrap_tls(plain, host) if encrypted else plain
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


def _shut_down(connection: http.client.HTTPConnection) -> None:
    """Unblock a thread that waits for an answer."""
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def _wrap_tls(plain: socket.socket, host: str) -> ssl.SSLSocket:
    try:
        context = ssl.create_default_context()
        return context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    except (OSError, ValueError):
        plain.close()
        raise


def resolve(host: str, port: int, internal: bool) -> str:
    """The first allowed IP address of the host.

    Raises:
        DeliveryError: The host has only internal addresses, and those are not allowed.
        OSError: The host is unknown.
    """
    addresses = [entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    allowed = [str(address) for address in addresses if internal or is_public(str(address))]
    if not allowed:
        raise DeliveryError(
            f"{host} is not a public address: PMWEB_WEBHOOK_INTERNAL=1 lets webhooks be sent to internal ones"
        )
    return allowed[0]
