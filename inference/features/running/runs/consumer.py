"""WebSockets to browsers. They only speak: commands are POSTs.

| address | messages |
|---|---|
| `/ws/runs/<id>/?since=<seq>` | a run's journal after event `seq`: `{"seq", "kind", "payload", "at"}` |
| `/ws/runs/` | `{"id", "name", "kind", "state", "wanted", "progress", "error"}` of every run that changed |

A socket is closed with 4404 where there is no such run (any more), 4503 when the database does not answer:
the browser comes back later. Who may listen at all, and for how long, is the site's affair.
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

NOT_FOUND = 4404
TRY_AGAIN = 4503

logger = logging.getLogger(__name__)

NO_LAYER = "none"
"""The name of no channel layer: consumers are woken by the watcher and need no Redis."""


class _SpeakingConsumer(AsyncWebsocketConsumer):
    """Sends what its `speak` sends, until the browser leaves; ignores whatever the browser says."""

    channel_layer_alias = NO_LAYER
    _speaking: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Accept, so that the browser learns the reason of a refusal, then speak or close."""
        await self.accept()
        self._speaking = asyncio.create_task(self._speak_until_done())

    async def disconnect(self, code: int) -> None:
        if self._speaking is not None:
            self._speaking.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing a browser sends here means anything."""

    async def _speak_until_done(self) -> None:
        code = TRY_AGAIN
        try:
            code = await self._watch_and_speak() if await self.is_there() else NOT_FOUND
        except OperationalError as error:
            logger.warning("the database does not answer: %s", error)
        await self.close(code)

    async def _watch_and_speak(self) -> int:
        watcher = shared_watcher()
        watch = watcher.add(self.watched_run())
        try:
            return await self.speak(watch)
        finally:
            watcher.remove(watch)

    async def is_there(self) -> bool:
        """Whether there is anything to watch.

        Asked before watching: no address may bring an id that the database cannot hold into the query that
        the watcher makes for everybody.
        """
        return True

    def watched_run(self) -> int | None:
        """The run to be woken for, None for the list."""
        raise NotImplementedError

    async def speak(self, watch: RunSubscription) -> int:
        """Send messages; returns the code to close with when there is nothing more to say."""
        raise NotImplementedError


class RunConsumer(_SpeakingConsumer):
    """The journal of one run: what the browser lacks first, then live."""

    def watched_run(self) -> int:
        """The run in the address."""
        return int(self.scope["url_route"]["kwargs"]["run_id"])

    async def is_there(self) -> bool:
        """Whether there is such a run."""
        return bool(await database_sync_to_async(Run.objects.filter(pk=self.watched_run()).exists)())

    async def speak(self, watch: RunSubscription) -> int:
        """Read on from the last event sent whenever the watcher says that there is more."""
        run_id = self.watched_run()
        seq = _since(self.scope)
        journal = shared_journal()
        journal.enter()
        try:
            while not watch.gone:
                await watch.news()
                while messages := await journal.after(run_id, seq):
                    for _, message in messages:
                        await self.send(text_data=message)
                    seq, _ = messages[-1]
        finally:
            journal.leave()
        return NOT_FOUND


class RunListConsumer(_SpeakingConsumer):
    """One line about every run that changes; at first, about every run that is not over."""

    def watched_run(self) -> None:
        """All of them."""

    async def speak(self, watch: RunSubscription) -> int:
        """Send the lines that differ from those sent before."""
        sent: dict[int, Json] = {}
        while True:
            await watch.news()
            lines = shared_watcher().summaries
            for run_id, line in sorted(lines.items()):
                if sent.get(run_id) != line:
                    await self.send(text_data=json.dumps(line))
            sent = lines


def _since(scope: dict[str, Any]) -> int:
    """The number of the last event that the browser has; 0 where it says none that makes sense."""
    values = parse_qs(scope.get("query_string", b"").decode("ascii", errors="replace")).get("since", ["0"])
    return int(values[-1]) if values[-1].isdecimal() and len(values[-1]) < 19 else 0


class NothingHereConsumer(AsyncWebsocketConsumer):
    """Every other address: refused in the same way, not as an error of the site."""

    channel_layer_alias = NO_LAYER

    async def connect(self) -> None:
        """Accept, so that the browser learns the reason, and close."""
        await self.accept()
        await self.close(NOT_FOUND)
