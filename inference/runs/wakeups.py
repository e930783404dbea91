"""Messages that only make things quicker: everybody also looks by themselves.

Processes of one host and data directory hear each other by local sockets, those of other hosts through the
channel layer, if it is one that leaves its process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from django.db import transaction

from inference.runs.layer_relay import present
from inference.runs.local_wakeups import Wakeup, wake

WORK = "work"
NEWS = "run-news"


class RemoteWakeup(Wakeup):
    """A listener that is also woken from other hosts."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        relay = present()
        self._hang_up: Callable[[], None] | None = None if relay is None else relay.connect(topic, self.wake)

    def close(self) -> None:
        if self._hang_up is not None:
            self._hang_up()
            self._hang_up = None
        super().close()


def announce_work() -> None:
    """After the commit, wake the workers: there is a run to claim."""
    _after_commit(WORK)


def announce_news() -> None:
    """After the commit, wake the watchers: the journal of a run has grown."""
    _after_commit(NEWS)


def announce_batches(machine_id: int) -> None:
    """After the commit, wake the connection of a machine's agent: there is something to do or to drop."""
    _after_commit(_batches(machine_id))


def announce_results(run_id: int) -> None:
    """After the commit, wake a run that waits for results."""
    _after_commit(_results(run_id))


def wakeup_for_batches(machine_id: int) -> Wakeup:
    return RemoteWakeup(_batches(machine_id))


def wakeup_for_results(run_id: int) -> Wakeup:
    return RemoteWakeup(_results(run_id))


async def listen_for_work(event: asyncio.Event) -> None:
    """Set the event whenever work is announced, until cancelled."""
    await _listen_for(WORK, event)


async def listen_for_news(event: asyncio.Event) -> None:
    """Set the event whenever a run has news, until cancelled."""
    await _listen_for(NEWS, event)


async def _listen_for(topic: str, event: asyncio.Event) -> None:
    with RemoteWakeup(topic) as wakeup, wakeup.setting(event):
        await asyncio.Event().wait()


def _batches(machine_id: int) -> str:
    return f"batches-{machine_id}"


def _results(run_id: int) -> str:
    return f"results-{run_id}"


def _after_commit(topic: str) -> None:
    def announce() -> None:  # a function, since Django reports the failure of a robust one by its name
        wake(topic)
        relay = present()
        if relay is not None:
            relay.wake(topic)

    # robust: what is only a message must not fail the transaction that has just been committed.
    transaction.on_commit(announce, robust=True)
