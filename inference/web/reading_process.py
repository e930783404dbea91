"""Files and texts of users are read apart from the web process: a pattern that does not end, a parser that
takes all memory, end a process of their own and no page.

A server (`reading_server`) is started at the first use and stays; a process that it forks reads one file.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Concatenate, NoReturn

from django.conf import settings
from django.utils.module_loading import import_string

from inference.containment import METER
from inference.formats import other_formats
from inference.formats.errors import ExchangeError
from inference.runs.child import limit_memory

LONGEST_REQUEST = 1 << 16
DONE, REFUSED = b"+", b"-"
"""Of a file that was read, and of one about which the reader complains."""
ANSWER_HEAD = struct.Struct("=cd")
"""How an answer begins: with one of these, and the seconds of the processor that it took."""


def serve(requests: socket.socket) -> None:
    """Serve until the owner has closed its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from the terminal: the owner ends first
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    other_formats.importers()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 1, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return
        request = json.loads(message)
        if not descriptors:  # there was no room for it: whoever waits finds the connection closed
            continue
        with (
            socket.socket(fileno=descriptors[0]) as connection,
            suppress(BlockingIOError),
        ):  # no more processes
            import_string(request["function"])
            gc.freeze()  # a collection in a child would copy the memory of every object
            if os.fork() == 0:
                requests.close()
                _read(request, connection)


def _read(request: dict[str, Any], connection: socket.socket) -> NoReturn:
    """What remains of this process reads one file and ends."""
    status = 1
    try:
        signal.setitimer(signal.ITIMER_REAL, request["seconds"])  # without a handler, the signal ends it
        limit_memory(_data_bytes() + request["memory"])
        result, text = _answer(request, connection)
        signal.setitimer(signal.ITIMER_REAL, 0)  # half an answer would look like a whole one
        connection.sendall(ANSWER_HEAD.pack(result, time.process_time()) + text)
        status = 0
    except:  # noqa: E722  whatever it was, this process must not go on as a second server
        traceback.print_exc()
    finally:
        os._exit(status)


def _answer(request: dict[str, Any], connection: socket.socket) -> tuple[bytes, bytes]:
    with connection.makefile("rb") as file:
        content = file.read()
    try:
        answer: bytes = import_string(request["function"])(content, **request["options"])
        return DONE, answer
    except ExchangeError as error:
        return REFUSED, str(error).encode()
    except MemoryError:
        return REFUSED, f"reading it takes more than {request['memory'] >> 20} MiB of memory".encode()


def _data_bytes() -> int:
    """Writable private memory of this process, most of it shared with the server."""
    found = re.search(r"^VmData:\s*+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


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
