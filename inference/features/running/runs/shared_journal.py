"""Journals of runs on their way to readers, read once for all browsers that lack the same events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from inference.runs.journal import events_since
from inference.web.database_thread import DatabaseThread

PAGE_BYTES = 1 << 18
"""Of text in a page: there are many readers, and some read slowly."""

Messages = list[tuple[int, str]]
"""Events as text, each with its number."""


def first_page(messages: Iterable[tuple[int, str]]) -> Messages:
    """The first messages with `PAGE_BYTES` together; one in any case, if there are some."""
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
    """Dozens follow one run: they are woken together, and lack the same. For browsers of one event loop."""

    def __init__(self) -> None:
        self._thread = DatabaseThread("journal")
        self._to_be_read: dict[tuple[int, int], asyncio.Task[Messages]] = {}
        self.enter, self.leave = self._thread.enter, self._thread.leave

    async def after(self, run_id: int, seq: int) -> Messages:
        """What follows event `seq` of a run, or the first of it; all that was written before the call.

        To be asked between `enter` and `leave`. Raises what the database raises.
        """
        key = run_id, seq
        reading = self._to_be_read.get(key)
        if reading is None:
            # A task begins one turn of the loop later: until then it can be joined in any case.
            reading = self._to_be_read[key] = asyncio.create_task(self._thread.run(self._read, key))
            reading.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(reading)  # a browser that leaves takes nothing from the others

    def _read(self, key: tuple[int, int]) -> Messages:
        # In the thread, and before the query: who asks from now on may want what is written after it.
        self._to_be_read.pop(key, None)
        return first_page((event["seq"], json.dumps(event)) for event in events_since(*key, _PAGE))

    def _forget(self, key: tuple[int, int], done: asyncio.Task[Messages]) -> None:
        """Where it failed before it came to the query."""
        if self._to_be_read.get(key) is done:
            del self._to_be_read[key]


_journals: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedJournal] = WeakKeyDictionary()


def shared_journal() -> SharedJournal:
    """The one of this process, that is, of the running event loop."""
    loop = asyncio.get_running_loop()
    journal = _journals.get(loop)
    if journal is None:
        journal = _journals[loop] = SharedJournal()
    return journal
