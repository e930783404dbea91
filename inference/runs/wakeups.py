"""Messages that only make things quicker: everybody also looks by themselves.

Processes of one host and data directory hear each other by local sockets, those of other hosts through the
channel layer, if it is one that leaves its process.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from channels.layers import BaseChannelLayer, InMemoryChannelLayer, get_channel_layer
from django.conf import settings
from django.db import transaction

WORK = "work"
"""There is a run to claim: for workers."""
NEWS = "run-news"
"""The journal of a run has grown: for watchers."""


def batches_of(machine_id: int) -> str:
    """For the connection of a machine's agent: there is something to do or to drop."""
    return f"batches-{machine_id}"


def results_of(run_id: int) -> str:
    """For a run that waits for results."""
    return f"results-{run_id}"


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


logger = logging.getLogger(__name__)

_PATH_LIMIT = 103  # bytes of a socket's address; Linux has 107, others less
_NAME_LIMIT = 60


class Wakeup:
    """A listener for a topic, a short name without dots, which is woken from this host and from others."""

    def __init__(self, topic: str) -> None:
        self._name = f"{topic}.{os.getpid()}.{secrets.token_hex(4)}"
        self._socket: socket.socket | None = None
        try:
            self._socket = _listen(self._name)
        except OSError as error:
            logger.warning("no socket for wake-ups of %s, polling instead: %s", topic, error)
        _sweep()
        relay = present()
        self._hang_up: Callback | None = None if relay is None else relay.connect(topic, self.wake)

    def wait(self, seconds: float) -> bool:
        """Whether it was woken since the last call; waits up to so many seconds (> 0) for that."""
        if self._socket is None:
            time.sleep(seconds)
            return False
        self._socket.settimeout(seconds)
        try:
            self._socket.recv(1)
        except TimeoutError:
            return False
        self._forget()
        return True

    @contextmanager
    def setting(self, event: asyncio.Event) -> Iterator[None]:
        """Set an event of the running loop whenever it is woken."""
        if self._socket is None:
            yield
            return
        loop, descriptor = asyncio.get_running_loop(), self._socket.fileno()

        def woken() -> None:
            self._forget()
            event.set()

        loop.add_reader(descriptor, woken)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)

    def wake(self) -> None:
        if self._socket is not None:
            _reach([self._name], b"!")

    def close(self) -> None:
        if self._hang_up is not None:
            self._hang_up()
            self._hang_up = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            (_folder() / self._name).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _forget(self) -> None:
        """Take all messages that have come: they say the same as one."""
        assert self._socket is not None
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(1)


def wake(topic: str) -> None:
    """Wake every listener of the topic on this host."""
    try:
        names = [name for name in os.listdir(_folder()) if name.startswith(f"{topic}.")]  # noqa: PTH208  quicker
        if names:
            _reach(names, b"!")
    except OSError:
        return  # nobody has ever listened, or nobody here can be reached


def _folder() -> Path:
    return settings.HOME / "wakeups"


def _listen(name: str) -> socket.socket:
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        with _within_reach(folder) as way:
            # Under a hidden name until somebody listens: a sender would take it for a leftover.
            listener.bind(f"{way}/.{name}")
        (folder / f".{name}").rename(folder / name)
    except OSError:
        listener.close()
        raise
    return listener


def _sweep() -> None:
    """Remove what listeners that were killed have left; those that live hear nothing of it."""
    with contextlib.suppress(OSError):
        _reach([name for name in os.listdir(_folder()) if not name.startswith(".")], b"")  # noqa: PTH208


def _reach(names: list[str], message: bytes) -> None:
    """Reach each socket, with a message or (b"") without, and remove those behind which nobody is."""
    folder = _folder()
    with _within_reach(folder) as way:
        for name in names:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                try:
                    sender.connect(f"{way}/{name}")
                    if message:
                        sender.send(message)
                except ConnectionRefusedError:
                    (folder / name).unlink(missing_ok=True)
                except OSError:
                    continue  # it has just gone, or has many messages to answer already


@contextmanager
def _within_reach(folder: Path) -> Iterator[str]:
    """A way to the folder that leaves room for a name in a socket's short address."""
    if len(os.fsencode(folder)) + 1 + _NAME_LIMIT <= _PATH_LIMIT:
        yield str(folder)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def announce(topic: str) -> None:
    """After the commit, wake all who listen for the topic, on every host."""

    def wake_all() -> None:  # a function, since Django reports the failure of a robust one by its name
        wake(topic)
        relay = present()
        if relay is not None:
            relay.wake(topic)

    # robust: what is only a message must not fail the transaction that has just been committed.
    transaction.on_commit(wake_all, robust=True)


async def listen(topic: str, event: asyncio.Event) -> None:
    """Set the event whenever the topic is announced, until cancelled."""
    with Wakeup(topic) as wakeup, wakeup.setting(event):
        await asyncio.Event().wait()
