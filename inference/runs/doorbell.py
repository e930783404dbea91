"""Messages that only make things quicker: everybody also looks by themselves.

Processes of one host and data directory hear each other by local sockets (`bells`), others through the
channel layer. The in-memory layer reaches nobody outside its own process, so there nothing is sent and
nobody listens. Agents' connections and runs that measure use the local sockets alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from channels.exceptions import ChannelFull
from channels.layers import BaseChannelLayer, InMemoryChannelLayer, get_channel_layer
from django.db import transaction

from inference.runs import bells
from inference.runs.bells import Bell

logger = logging.getLogger(__name__)

WORK_CHANNEL = "work"
NEWS_GROUP = "run-news"

_LISTEN_AGAIN_AFTER = 5.0


def announce_work() -> None:
    """After the commit, wake a worker: there is a run to claim."""
    # robust: a layer that is down must not fail the transaction that has just been committed.
    transaction.on_commit(_ring_work, robust=True)


def announce_news(run_id: int) -> None:
    """After the commit, wake the watchers: the journal of a run has grown."""

    def ring() -> None:  # a function, since Django reports the failure of a robust one by its name
        _ring_news(run_id)

    transaction.on_commit(ring, robust=True)


def announce_batches(machine_id: int) -> None:
    """After the commit, wake the connection of a machine's agent: there is something to do or to drop."""
    transaction.on_commit(partial(bells.ring, _batches(machine_id)))


def announce_results(run_id: int) -> None:
    """After the commit, wake a run that waits for results."""
    transaction.on_commit(partial(bells.ring, _results(run_id)))


def bell_for_batches(machine_id: int) -> Bell:
    """Rung by `announce_batches`."""
    return Bell(_batches(machine_id))


def bell_for_results(run_id: int) -> Bell:
    """Rung by `announce_results`."""
    return Bell(_results(run_id))


async def listen_for_work(layer: BaseChannelLayer | None, bell: asyncio.Event) -> None:
    """Set the bell whenever work is announced, until cancelled."""
    with Bell(WORK_CHANNEL) as local, local.setting(bell):
        await _keep_listening(layer, lambda reached: _hear_channel(reached, WORK_CHANNEL, bell))


async def listen_for_news(layer: BaseChannelLayer | None, bell: asyncio.Event) -> None:
    """Set the bell whenever a run has news, until cancelled."""
    with Bell(NEWS_GROUP) as local, local.setting(bell):
        await _keep_listening(layer, lambda reached: _hear_group(reached, NEWS_GROUP, bell))


def crosses_processes(layer: BaseChannelLayer | None) -> bool:
    """Whether a message sent here can arrive in another process."""
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


def _batches(machine_id: int) -> str:
    return f"batches-{machine_id}"


def _results(run_id: int) -> str:
    return f"results-{run_id}"


def _ring_work() -> None:
    bells.ring(WORK_CHANNEL)
    layer = get_channel_layer()
    if not crosses_processes(layer):
        return
    try:
        async_to_sync(layer.send)(WORK_CHANNEL, {"type": "work.waiting"})
    except ChannelFull:
        return  # a hundred rings nobody has answered yet say the same as one more


def _ring_news(run_id: int) -> None:
    bells.ring(NEWS_GROUP)
    layer = get_channel_layer()
    if crosses_processes(layer):
        async_to_sync(layer.group_send)(NEWS_GROUP, {"type": "run.news", "run": run_id})


async def _keep_listening(
    layer: BaseChannelLayer | None, hear: Callable[[BaseChannelLayer], Coroutine[Any, Any, None]]
) -> None:
    """Hear, and after a failure of the layer hear again: until then looking must do."""
    if not crosses_processes(layer):
        await asyncio.Event().wait()  # the local bell is all there is
    while True:
        hearing = asyncio.create_task(hear(layer))
        try:
            await asyncio.wait({hearing})
        finally:
            hearing.cancel()
        logger.warning("the channel layer failed, news are found by looking: %s", hearing.exception())
        await asyncio.sleep(_LISTEN_AGAIN_AFTER)


async def _hear_channel(layer: BaseChannelLayer, channel: str, bell: asyncio.Event) -> None:
    while True:
        await layer.receive(channel)
        bell.set()


async def _hear_group(layer: BaseChannelLayer, group: str, bell: asyncio.Event) -> None:
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    await _hear_channel(layer, channel, bell)
