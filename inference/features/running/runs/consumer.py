"""WebSockets that send runs' events to browsers. Commands are POST requests, never messages.

| address | messages |
|---|---|
| `/ws/runs/<id>/?since=<seq>` | a run's journal after event `seq`: `{"seq", "kind", "payload", "at"}` |
| `/ws/runs/` | `{"id", "name", "kind", "state", "wanted", "progress", "error"}` of every run that changed |

A socket is closed with 4404 if the run does not exist (any more), and with 4503 if the database does not
answer: the browser then reconnects later. Authentication and session limits are the site's (`pmweb`), not
checked here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import OperationalError

from inference.core.protocols import Json
from inference.features.running.runs.shared_journal import shared_journal
from inference.models import Run
from inference.runs.watcher import RunSubscription, shared_watcher

NO_SUCH_RUN = 4404
TRY_AGAIN = 4503

logger = logging.getLogger(__name__)

NO_LAYER = "none"
"""Names no configured channel layer: the watcher wakes consumers, so they need no Redis."""


class _SendingConsumer(AsyncWebsocketConsumer):
    """Runs `send_messages` until the browser disconnects; ignores messages of the browser."""

    channel_layer_alias = NO_LAYER
    _sending: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Accepts in any case: a browser learns a close code only of an accepted socket."""
        await self.accept()
        self._sending = asyncio.create_task(self._send_until_done())

    async def disconnect(self, code: int) -> None:
        if self._sending is not None:
            self._sending.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignores messages: the address alone says what a browser gets."""

    async def _send_until_done(self) -> None:
        code = TRY_AGAIN
        try:
            code = await self._watch_and_send() if await self.exists() else NO_SUCH_RUN
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
        await self.close(code)

    async def _watch_and_send(self) -> int:
        watcher = shared_watcher()
        watch = watcher.add(self.watched_run())
        try:
            return await self.send_messages(watch)
        finally:
            watcher.remove(watch)

    async def exists(self) -> bool:
        """Whether the run exists.

        Checked before watching: all sockets share the watcher's query, and one run number beyond the
        database's integers would make it fail for all.
        """
        return True

    def watched_run(self) -> int | None:
        """The id of the run to watch, None for all runs."""
        raise NotImplementedError

    async def send_messages(self, watch: RunSubscription) -> int:
        """Sends messages until there are no more; returns the close code."""
        raise NotImplementedError


class RunConsumer(_SendingConsumer):
    """Sends a run's journal: first the events that the browser does not have, then new ones."""

    def watched_run(self) -> int:
        return int(self.scope["url_route"]["kwargs"]["run_id"])

    async def exists(self) -> bool:
        return bool(await database_sync_to_async(Run.objects.filter(pk=self.watched_run()).exists)())

    async def send_messages(self, watch: RunSubscription) -> int:
        run_id = self.watched_run()
        seq = _since(self.scope)
        journal = shared_journal()
        journal.enter()
        try:
            while not watch.is_deleted:
                await watch.wait_for_news()
                while messages := await journal.after(run_id, seq):
                    for _, message in messages:
                        await self.send(text_data=message)
                    seq, _ = messages[-1]
        finally:
            journal.leave()
        return NO_SUCH_RUN


class RunListConsumer(_SendingConsumer):
    """Sends the unfinished runs, then each run that changes."""

    def watched_run(self) -> None:
        """None: all runs are watched."""

    async def send_messages(self, watch: RunSubscription) -> int:
        sent: dict[int, Json] = {}
        while True:
            await watch.wait_for_news()
            lines = shared_watcher().summaries
            for run_id, line in sorted(lines.items()):
                if sent.get(run_id) != line:
                    await self.send(text_data=json.dumps(line))
            sent = lines


def _since(scope: dict[str, Any]) -> int:
    """The number of the browser's last event; 0 if the address has none or an invalid one."""
    values = parse_qs(scope.get("query_string", b"").decode("ascii", errors="replace")).get("since", ["0"])
    return int(values[-1]) if values[-1].isdecimal() and len(values[-1]) < 19 else 0


class UnknownAddressConsumer(AsyncWebsocketConsumer):
    """Closes sockets of all other addresses with 4404, without an error in the site's log."""

    channel_layer_alias = NO_LAYER

    async def connect(self) -> None:
        await self.accept()
        await self.close(NO_SUCH_RUN)
