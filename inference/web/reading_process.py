"""Files and texts of users are read apart from the web process: a pattern that does not end, a parser that
takes all memory, end a process of their own and no page.

A server (`reading_server`) is started at the first use and stays; a process that it forks reads one file.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Concatenate

from django.conf import settings

from inference.containment import METER
from inference.formats.problems import ExchangeError
from inference.web.reading_server import ANSWER_HEAD, DONE

RECOGNITION_SECONDS = 5.0
"""For finding out what a file is, by its beginning or by the directory of an archive."""
READING_SECONDS = 20.0
"""For a file as a whole, while somebody waits for an answer."""
MEMORY_BYTES = 1 << 30
AT_ONCE = 2
"""Files that a web process has read at a time: each may take all of `MEMORY_BYTES`, and its seconds are those
of a clock. Others wait."""
_START_SECONDS = 30.0

Reader = Callable[Concatenate[bytes, ...], bytes]
"""A function of a module, from a file and options as JSON to bytes; it may raise `ExchangeError`."""


class SlowFileError(ExchangeError):
    """Reading a file was given up."""


def read_apart(
    reader: Reader, content: bytes, *, seconds: float = RECOGNITION_SECONDS, **options: Any
) -> bytes:
    """What a reader makes of a file, in a process of its own.

    Raises `ExchangeError` as the reader does, and where it takes more than `seconds` or `MEMORY_BYTES`.
    """
    request = {
        "function": f"{reader.__module__}.{reader.__qualname__}",
        "options": options,
        "seconds": seconds,
        "memory": MEMORY_BYTES,
    }
    here, there = socket.socketpair()
    with _places, here:
        here.settimeout(seconds + _START_SECONDS)
        with there:
            _server.send(json.dumps(request).encode(), there)
        began = time.monotonic()
        answer = _exchanged(here, content)
    if not answer:
        _charge(time.monotonic() - began)
    if not answer and time.monotonic() - began >= seconds:
        raise SlowFileError(
            f"reading it took longer than {seconds:g} s and was given up: no known format takes so long; "
            "split the file, or read it with `manage.py import`"
        )
    if not answer:
        raise RuntimeError(f"the process that reads files ended without an answer: {request['function']}")
    status, cpu_seconds = ANSWER_HEAD.unpack_from(answer)
    _charge(cpu_seconds)
    if status != DONE:
        raise ExchangeError(answer[ANSWER_HEAD.size :].decode())
    return answer[ANSWER_HEAD.size :]


def _charge(cpu_seconds: float) -> None:
    """Let whoever sent the request pay, as for programs."""
    if (meter := METER.get()) is not None:
        meter.seconds += cpu_seconds


def _exchanged(connection: socket.socket, content: bytes) -> bytes:
    """Empty where the process ended without an answer, or does not come to an end."""
    parts = []
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 20):
                parts.append(part)
    except TimeoutError:
        return b""
    return b"".join(parts)


class _Server:
    """Started at the first request, and again when it has died. It ends when this process does."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def send(self, request: bytes, connection: socket.socket) -> None:
        with self._turn:
            if self._requests is None or self._owner != os.getpid():
                self._requests = self._started()
            try:
                socket.send_fds(self._requests, [request], [connection.fileno()])
            except (BrokenPipeError, ConnectionResetError, TimeoutError):
                self._requests = self._started()
                socket.send_fds(self._requests, [request], [connection.fileno()])

    def _started(self) -> socket.socket:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()  # where it hangs
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        here.settimeout(_START_SECONDS)
        self._owner = os.getpid()
        with there:
            self._process = subprocess.Popen(  # noqa: S603  there is no shell
                [sys.executable, str(settings.BASE_DIR / "manage.py"), "reading-server", str(there.fileno())],
                env={**os.environ, "PMWEB_HOME": str(settings.HOME)},
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,
            )
        return here


_server = _Server()
_places = threading.BoundedSemaphore(AT_ONCE)
