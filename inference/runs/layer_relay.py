"""Wake-ups between hosts: over the channel layer where it crosses processes (Redis); elsewhere nothing.

One thread per process speaks to the layer, so that whoever wakes others never waits for a network. It sends
what is woken here to the topic's group, and wakes this process's listeners when a group is woken. While the
layer is away, wake-ups are lost, and everybody finds news by looking.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from channels.layers import BaseChannelLayer, InMemoryChannelLayer, get_channel_layer

logger = logging.getLogger(__name__)

Callback = Callable[[], None]

_TRY_AGAIN_AFTER = 2.0
_PATIENCE = 5.0  # seconds for one message, after which the layer is taken to be down
_FAREWELL_SECONDS = 0.5
_SIGN_OF_LIFE = 30.0  # a process that only listens would not notice that the layer is away
_NOBODY = "nobody"


def crosses_processes(layer: BaseChannelLayer | None) -> bool:
    """Whether a message sent here can arrive in another process."""
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


class LayerRelay:
    """The thread of one process, and what it shall do there."""

    def __init__(self, layer: BaseChannelLayer) -> None:
        self._layer = layer
        self._guard = threading.Lock()
        self._callbacks: dict[str, list[Callback]] = {}
        self._to_wake: set[str] = set()
        self._all_sent = threading.Event()
        self._failing = False
        self._loop = asyncio.new_event_loop()
        self._changed, self._woken = asyncio.Event(), asyncio.Event()
        threading.Thread(target=self._run, name="relay", daemon=True).start()
        atexit.register(self._farewell)

    def wake(self, topic: str) -> None:
        """Wake others as soon as the thread gets to it; several for one topic that wait are one."""
        with self._guard:
            self._to_wake.add(topic)
            self._all_sent.clear()
        self._loop.call_soon_threadsafe(self._woken.set)

    def connect(self, topic: str, callback: Callback) -> Callable[[], None]:
        """Call `callback` whenever somebody elsewhere wakes the topic; calling what is returned ends that."""
        with self._guard:
            self._callbacks.setdefault(topic, []).append(callback)
        self._loop.call_soon_threadsafe(self._changed.set)
        return lambda: self._disconnect(topic, callback)

    def _disconnect(self, topic: str, callback: Callback) -> None:
        with self._guard:
            self._callbacks[topic].remove(callback)
            if not self._callbacks[topic]:
                del self._callbacks[topic]
        self._loop.call_soon_threadsafe(self._changed.set)

    def _farewell(self) -> None:
        """The last wake-ups of a process that ends get a moment."""
        if self._to_wake and not self._failing:
            self._all_sent.wait(_FAREWELL_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        tasks = [self._loop.create_task(self._keep(work)) for work in (self._listen, self._wake_others)]
        self._loop.run_until_complete(asyncio.gather(*tasks))

    async def _keep(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin again after a failure of the layer."""
        while True:
            try:
                await work()
            except Exception as error:  # noqa: BLE001  whatever a layer raises, looking does its work meanwhile
                self._note(error)
                await asyncio.sleep(_TRY_AGAIN_AFTER)

    async def _wake_others(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), _SIGN_OF_LIFE)
            self._woken.clear()
            for topic in list(self._to_wake) or [_NOBODY]:
                message = {"type": "wakeup", "topic": topic}
                with self._guard:
                    self._to_wake.discard(topic)
                await asyncio.wait_for(self._layer.group_send(topic, message), _PATIENCE)
                self._note(None)
            with self._guard:
                if not self._to_wake:
                    self._all_sent.set()

    async def _listen(self) -> None:
        channel = await asyncio.wait_for(self._layer.new_channel(), _PATIENCE)
        hearing = asyncio.create_task(self._hear(channel))
        joined: set[str] = set()
        try:
            while not hearing.done():
                self._changed.clear()
                await self._join(channel, joined)
                changed = asyncio.create_task(self._changed.wait())
                await asyncio.wait({changed, hearing}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            hearing.result()
        finally:
            hearing.cancel()

    async def _join(self, channel: str, joined: set[str]) -> None:
        """Be in the groups of the topics for which somebody here listens, and in no other."""
        with self._guard:
            wanted = set(self._callbacks)
        for topic in wanted - joined:
            await asyncio.wait_for(self._layer.group_add(topic, channel), _PATIENCE)
            joined.add(topic)
        for topic in joined - wanted:
            await asyncio.wait_for(self._layer.group_discard(topic, channel), _PATIENCE)
            joined.discard(topic)

    async def _hear(self, channel: str) -> None:
        while True:
            topic = (await self._layer.receive(channel)).get("topic", "")
            with self._guard:
                callbacks = list(self._callbacks.get(topic, ()))
            for callback in callbacks:
                callback()

    def _note(self, failure: Exception | None) -> None:
        """Say once that the layer is away, and once that it is back."""
        if failure is not None and not self._failing:
            kind = type(failure).__name__
            logger.warning(
                "the channel layer does not answer, events are found by polling: %s: %s", kind, failure
            )
        elif failure is None and self._failing:
            logger.info("the channel layer answers again")
        self._failing = failure is not None


_relays: dict[tuple[int, int], LayerRelay] = {}


def present() -> LayerRelay | None:
    """The relay of this process, None where no layer reaches other processes."""
    layer = get_channel_layer()
    if not crosses_processes(layer):
        return None
    key = os.getpid(), id(layer)
    if key not in _relays:
        _relays[key] = LayerRelay(layer)
    return _relays[key]
