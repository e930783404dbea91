"""Reads journals once for all browsers that wait for the same events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from inference.runs.journal import events_since
from inference.web.database_thread import DatabaseThread

PAGE_BYTES = 1 << 18
"""Maximum size of a page in characters, because many clients hold a page each, and some read slowly."""

Messages = list[tuple[int, str]]
"""(number, text) of events."""


def first_page(messages: Iterable[tuple[int, str]]) -> Messages:
    """The first messages with at most `PAGE_BYTES` together, but at least one if there are any."""
    page: Messages = []
    size = 0
    for seq, text in messages:
        size += len(text)
        if page and size > PAGE_BYTES:
            break
        page.append((seq, text))
    return page


_PAGE = 200  # events per query


class SharedJournal:
    """Shares reads between the sockets of one event loop: dozens may follow one run, and wake up together."""

    def __init__(self) -> None:
        self._thread = DatabaseThread("journal")
        self._pending: dict[tuple[int, int], asyncio.Task[Messages]] = {}
        self.enter, self.leave = self._thread.enter, self._thread.leave

    async def after(self, run_id: int, seq: int) -> Messages:
        """A page of the events after `seq`, including all that were written before the call.

        Call it only between `enter` and `leave`. Raises the database's errors.
        """
        key = run_id, seq
        reading = self._pending.get(key)
        if reading is None:
            # A task starts in the next iteration of the loop; until then, other callers can join it.
            reading = self._pending[key] = asyncio.create_task(self._thread.run(self._read, key))
            reading.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(reading)  # a client that disconnects must not cancel it for others

    def _read(self, key: tuple[int, int]) -> Messages:
        # In the thread, before the query: callers from now on may need events written after it.
        self._pending.pop(key, None)
        return first_page((event["seq"], json.dumps(event)) for event in events_since(*key, _PAGE))

    def _forget(self, key: tuple[int, int], done: asyncio.Task[Messages]) -> None:
        """Removes a read that failed before its query."""
        if self._pending.get(key) is done:
            del self._pending[key]


_journals: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedJournal] = WeakKeyDictionary()


def shared_journal() -> SharedJournal:
    loop = asyncio.get_running_loop()
    journal = _journals.get(loop)
    if journal is None:
        journal = _journals[loop] = SharedJournal()
    return journal
