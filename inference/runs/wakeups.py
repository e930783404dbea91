"""Wake-ups: messages that shorten the wait for the next poll; a lost one does no harm.

Processes of one host and data directory are woken through local sockets, those of other hosts through the
channel layer, if it connects processes.
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
"""Topic of workers: there may be a run to claim."""

NEWS = "run-news"
"""Topic of watchers: a run's journal has grown."""


def batches_topic(machine_id: int) -> str:
    """Topic of a machine's connection: a batch was posted or withdrawn."""
    return f"batches-{machine_id}"


def results_topic(run_id: int) -> str:
    return f"results-{run_id}"


Callback = Callable[[], None]

_RETRY_DELAY = 2.0  # seconds before a lost connection is opened again
_SEND_TIMEOUT = 5.0  # seconds for one message, after which the layer is taken to be down
_LAST_SEND_TIMEOUT = 0.5  # seconds for messages that are still to be sent when the process ends
_PROBE_INTERVAL = 30.0  # seconds; a process that only listens would not notice an outage of the layer
_PROBE_TOPIC = "nobody"


def crosses_processes(layer: BaseChannelLayer | None) -> bool:
    """Whether the layer delivers messages to other processes."""
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


class LayerRelay:
    """A process's connection to the channel layer, on a thread with an event loop of its own."""

    def __init__(self, layer: BaseChannelLayer) -> None:
        self._layer = layer
        self._lock = threading.Lock()
        self._callbacks: dict[str, list[Callback]] = {}
        self._pending_topics: set[str] = set()
        self._all_sent = threading.Event()
        self._failing = False
        self._loop = asyncio.new_event_loop()
        self._topics_changed, self._has_pending = asyncio.Event(), asyncio.Event()
        threading.Thread(target=self._run, name="relay", daemon=True).start()
        atexit.register(self._send_last)

    def wake(self, topic: str) -> None:
        """Send a wake-up to other hosts, from the thread; pending wake-ups of one topic are merged."""
        with self._lock:
            self._pending_topics.add(topic)
            self._all_sent.clear()
        self._loop.call_soon_threadsafe(self._has_pending.set)

    def connect(self, topic: str, callback: Callback) -> Callable[[], None]:
        """Call `callback` at every wake-up of the topic from another host; returns an unsubscriber."""
        with self._lock:
            self._callbacks.setdefault(topic, []).append(callback)
        self._loop.call_soon_threadsafe(self._topics_changed.set)
        return lambda: self._disconnect(topic, callback)

    def _disconnect(self, topic: str, callback: Callback) -> None:
        with self._lock:
            self._callbacks[topic].remove(callback)
            if not self._callbacks[topic]:
                del self._callbacks[topic]
        self._loop.call_soon_threadsafe(self._topics_changed.set)

    def _send_last(self) -> None:
        """At exit, wait a moment for pending wake-ups."""
        if self._pending_topics and not self._failing:
            self._all_sent.wait(_LAST_SEND_TIMEOUT)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        tasks = [
            self._loop.create_task(self._restart_on_failure(work))
            for work in (self._listen, self._send_wakeups)
        ]
        self._loop.run_until_complete(asyncio.gather(*tasks))

    async def _restart_on_failure(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Repeat `work` after failures of the layer."""
        while True:
            try:
                await work()
            except Exception as error:  # noqa: BLE001  layers raise errors of any class; polling goes on
                self._log_availability(error)
                await asyncio.sleep(_RETRY_DELAY)

    async def _send_wakeups(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._has_pending.wait(), _PROBE_INTERVAL)
            self._has_pending.clear()
            for topic in list(self._pending_topics) or [_PROBE_TOPIC]:
                message = {"type": "wakeup", "topic": topic}
                with self._lock:
                    self._pending_topics.discard(topic)
                await asyncio.wait_for(self._layer.group_send(topic, message), _SEND_TIMEOUT)
                self._log_availability(None)
            with self._lock:
                if not self._pending_topics:
                    self._all_sent.set()

    async def _listen(self) -> None:
        channel = await asyncio.wait_for(self._layer.new_channel(), _SEND_TIMEOUT)
        dispatcher = asyncio.create_task(self._dispatch(channel))
        joined: set[str] = set()
        try:
            while not dispatcher.done():
                self._topics_changed.clear()
                await self._join(channel, joined)
                changed = asyncio.create_task(self._topics_changed.wait())
                await asyncio.wait({changed, dispatcher}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            dispatcher.result()
        finally:
            dispatcher.cancel()

    async def _join(self, channel: str, joined: set[str]) -> None:
        """Join the groups of the topics that have callbacks, and leave all others."""
        with self._lock:
            topics = set(self._callbacks)
        for topic in topics - joined:
            await asyncio.wait_for(self._layer.group_add(topic, channel), _SEND_TIMEOUT)
            joined.add(topic)
        for topic in joined - topics:
            await asyncio.wait_for(self._layer.group_discard(topic, channel), _SEND_TIMEOUT)
            joined.discard(topic)

    async def _dispatch(self, channel: str) -> None:
        while True:
            topic = (await self._layer.receive(channel)).get("topic", "")
            with self._lock:
                callbacks = list(self._callbacks.get(topic, ()))
            for callback in callbacks:
                callback()

    def _log_availability(self, failure: Exception | None) -> None:
        """Log when the layer fails, and when it answers again."""
        if failure is not None and not self._failing:
            kind = type(failure).__name__
            logger.warning("the channel layer does not answer, polling instead: %s: %s", kind, failure)
        elif failure is None and self._failing:
            logger.info("the channel layer answers again")
        self._failing = failure is not None


_relays: dict[tuple[int, int], LayerRelay] = {}


def current_relay() -> LayerRelay | None:
    """The relay of this process, created at the first call; None if the layer stays within the process."""
    layer = get_channel_layer()
    if not crosses_processes(layer):
        return None
    key = os.getpid(), id(layer)
    if key not in _relays:
        _relays[key] = LayerRelay(layer)
    return _relays[key]


logger = logging.getLogger(__name__)

_PATH_LIMIT = 103  # bytes of a socket's address; Linux has 107, others less
_NAME_LIMIT = 60  # bytes of a socket's file name


class Wakeup:
    """A listener for a topic (a short name without dots), woken from this host and from others."""

    def __init__(self, topic: str) -> None:
        self._name = f"{topic}.{os.getpid()}.{secrets.token_hex(4)}"
        self._socket: socket.socket | None = None
        try:
            self._socket = _listen(self._name)
        except OSError as error:
            logger.warning("no socket for wake-ups of %s, polling instead: %s", topic, error)
        _remove_dead_sockets()
        relay = current_relay()
        self._disconnect: Callback | None = None if relay is None else relay.connect(topic, self.wake)

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` (> 0) for a wake-up; whether one has come since the last call."""
        if self._socket is None:
            time.sleep(seconds)
            return False
        self._socket.settimeout(seconds)
        try:
            self._socket.recv(1)
        except TimeoutError:
            return False
        self._drain()
        return True

    @contextmanager
    def sets(self, event: asyncio.Event) -> Iterator[None]:
        """Sets an event of the running loop at every wake-up, while the context is open."""
        if self._socket is None:
            yield
            return
        loop, descriptor = asyncio.get_running_loop(), self._socket.fileno()

        def on_readable() -> None:
            self._drain()
            event.set()

        loop.add_reader(descriptor, on_readable)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)

    def wake(self) -> None:
        if self._socket is not None:
            _send_to([self._name], b"!")

    def close(self) -> None:
        if self._disconnect is not None:
            self._disconnect()
            self._disconnect = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            (_directory() / self._name).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _drain(self) -> None:
        """Read all messages: several wake-ups mean the same as one."""
        assert self._socket is not None
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(1)


def wake(topic: str) -> None:
    """Wake every listener of the topic on this host."""
    try:
        names = [name for name in os.listdir(_directory()) if name.startswith(f"{topic}.")]  # noqa: PTH208  quicker
        if names:
            _send_to(names, b"!")
    except OSError:
        return  # no process has ever listened, or the directory cannot be read


def _directory() -> Path:
    return settings.HOME / "wakeups"


def _listen(name: str) -> socket.socket:
    directory = _directory()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        with _short_path(directory) as path:
            # Under a hidden name until it is bound: a sender would remove it as the socket of a dead process.
            listener.bind(f"{path}/.{name}")
        (directory / f".{name}").rename(directory / name)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_dead_sockets() -> None:
    """Remove sockets of killed listeners; living ones are not woken."""
    with contextlib.suppress(OSError):
        _send_to([name for name in os.listdir(_directory()) if not name.startswith(".")], b"")  # noqa: PTH208


def _send_to(names: list[str], message: bytes) -> None:
    """Send a message to the sockets (b"": only connect), and remove those without a listener."""
    directory = _directory()
    with _short_path(directory) as path:
        for name in names:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                try:
                    sender.connect(f"{path}/{name}")
                    if message:
                        sender.send(message)
                except ConnectionRefusedError:
                    (directory / name).unlink(missing_ok=True)
                except OSError:
                    continue  # it was closed just now, or its buffer is full of wake-ups


@contextmanager
def _short_path(directory: Path) -> Iterator[str]:
    """A path of the directory that leaves room for a name in the short address of a Unix socket."""
    if len(os.fsencode(directory)) + 1 + _NAME_LIMIT <= _PATH_LIMIT:
        yield str(directory)
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def announce(topic: str) -> None:
    """Wake all listeners of the topic on every host, after the transaction's commit."""

    def wake_all() -> None:  # no lambda: Django logs the failure of a robust callback by its name
        wake(topic)
        relay = current_relay()
        if relay is not None:
            relay.wake(topic)

    # robust: a failed wake-up must not look like a failure of the committed transaction.
    transaction.on_commit(wake_all, robust=True)


async def listen(topic: str, event: asyncio.Event) -> None:
    """Set the event whenever the topic is announced, until cancelled."""
    with Wakeup(topic) as wakeup, wakeup.sets(event):
        await asyncio.Event().wait()
