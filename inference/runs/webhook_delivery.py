"""Telling the webhooks of ended runs: each attempt by one worker, with time-outs, again later if it fails.

What users of a site may enter must not reach what only the site's host can reach: addresses that are not
public are refused when the message is sent, at the address that is then connected to, unless the setting
`WEBHOOK_INTERNAL` allows them or the site's administrator has entered the address. Redirections are not
followed.
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
from datetime import timedelta
from urllib.parse import urlsplit

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.db.models import F, Q
from django.utils import timezone

from inference import __version__
from inference.core.protocols import Json
from inference.models import Run, Webhook
from inference.runs.webhook_address import RIGHT, is_public

logger = logging.getLogger(__name__)

LOOK_EVERY = 2.0
WAITS = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1))
"""Before the second, third, … attempt; after the one that follows the last wait it is given up."""

TIME_OUT = 5.0
"""Seconds for connecting."""
ANSWER_TIME_OUT = 10.0
"""Seconds from then on for the whole answer, however slow: a worker that shall end waits for it."""

_MOST = 20
_ERROR_LENGTH = 300


class DeliveryError(Exception):
    """A message was not taken; the text says why."""


async def deliver_for_ever() -> None:
    """Look for ended runs whose webhooks have not been told, until cancelled."""
    while True:
        try:
            for row in await database_sync_to_async(_claimed)():
                await _attempt(row)
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
        await asyncio.sleep(LOOK_EVERY)


async def _attempt(row: Webhook) -> None:
    """Whatever is wrong with one of them, the others are told. Raises `OperationalError`."""
    try:
        await _deliver(row)
    except OperationalError:
        raise
    except Exception:  # this webhook is due again later, and given up in the end, as one that nobody answers
        logger.exception("run %s: telling its webhook failed", row.run_id)


async def _deliver(row: Webhook) -> None:
    message = await database_sync_to_async(_message)(row)
    try:
        await asyncio.to_thread(post, row.url, message, _may_be_internal(row.url))
    except DeliveryError as error:
        logger.warning("run %s: webhook not told: %s", row.run_id, error)
        await database_sync_to_async(_failed)(row, str(error))
    else:
        await database_sync_to_async(_sent)(row)


def _claimed() -> list[Webhook]:
    """Those to be told now, each claimed for this process: its next attempt is due only later."""
    now = timezone.now()
    due = Q(due__isnull=True) | Q(due__lte=now)
    rows = Webhook.objects.filter(due, sent=None, attempts__lte=len(WAITS), run__state__in=Run.FINAL)
    claimed = []
    for row in rows.select_related("run").order_by("id")[:_MOST]:
        wait = WAITS[min(row.attempts, len(WAITS) - 1)]
        mine = Webhook.objects.filter(pk=row.pk, attempts=row.attempts, sent=None)
        if mine.update(attempts=F("attempts") + 1, due=now + wait):
            claimed.append(row)
    return claimed


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
