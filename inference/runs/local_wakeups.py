"""Wake-ups within one host: datagram sockets in `$PMWEB_HOME/wakeups/`, one per listener.

A message carries nothing; it says "look". Sending one never waits and never fails, and where there can be
no socket nothing is heard: everybody also looks by themselves. What a process that was killed leaves behind
is removed by whoever next finds that nobody listens there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from django.conf import settings

logger = logging.getLogger(__name__)

_PATH_LIMIT = 103  # bytes of a socket's address; Linux has 107, others less
_NAME_LIMIT = 60


class Wakeup:
    """One listener for a topic, a short name without dots."""

    def __init__(self, topic: str) -> None:
        self._name = f"{topic}.{os.getpid()}.{secrets.token_hex(4)}"
        self._socket: socket.socket | None = None
        try:
            self._socket = _listen(self._name)
        except OSError as error:
            logger.warning("no socket for wake-ups of %s, polling instead: %s", topic, error)
        _sweep()

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
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            (_folder() / self._name).unlink(missing_ok=True)

    def __enter__(self) -> Wakeup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
