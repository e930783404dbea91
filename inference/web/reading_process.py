"""Reads files of users in processes of their own, with limits of time and memory.

An endless pattern or a parser that takes all memory ends that process, not the web process. A fork server
(`manage.py reading-server`) is started at the first use; it forks a process per file, and those that stay to
read pasted text (`inference.web.code_reading`).
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
from inference.formats.problems import ExchangeError
from inference.runs.child import limit_memory

MAX_REQUEST_BYTES = 1 << 16
DONE, REFUSED = b"+", b"-"
"""Status of an answer: the file was read, or the reader refused it."""
ANSWER_HEAD = struct.Struct("=cd")
"""Head of an answer: the status, and seconds of processor time."""


def serve(requests: socket.socket) -> None:
    """Answer requests until the owner closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from the terminal: the owner ends first
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    other_formats.importers()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return
        request = json.loads(message)
        if not descriptors:  # the limit of open files: the caller finds the connection closed
            continue
        with (
            socket.socket(fileno=descriptors[0]) as connection,
            suppress(BlockingIOError),
        ):  # no more processes
            import_string(request["function"])
            gc.freeze()  # a collection in a child would copy the memory of every object
            if os.fork() == 0:
                requests.close()
                (_stay if "stays" in request else _read)(request, connection)


def _read(request: dict[str, Any], connection: socket.socket) -> NoReturn:
    """Read one file in the forked process, answer, and end."""
    status = 1
    try:
        # Without a handler, SIGALRM ends the process.
        signal.setitimer(signal.ITIMER_REAL, request["seconds"])
        limit_memory(_data_bytes() + request["memory"])
        result, text = _answer(request, connection)
        signal.setitimer(signal.ITIMER_REAL, 0)  # a truncated answer would look complete
        connection.sendall(ANSWER_HEAD.pack(result, time.process_time()) + text)
        status = 0
    except:  # noqa: E722  whatever it was, this process must not go on as a second server
        traceback.print_exc()
    finally:
        os._exit(status)


def _stay(request: dict[str, Any], connection: socket.socket) -> NoReturn:
    """Answer requests in the forked process until the owner closes the connection."""
    try:
        limit_memory(_data_bytes() + request["memory"])
        import_string(request["function"])(connection, **request["options"])
    except:  # noqa: E722  as above
        traceback.print_exc()
    finally:
        os._exit(0)


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
    """Bytes of writable private memory of this process, most of it shared with the server."""
    match = re.search(r"^VmData:\s*+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(match[1]) << 10 if match else 0


RECOGNITION_SECONDS = 5.0
"""Limit for recognising a file's format by its beginning or by an archive's directory."""
READING_SECONDS = 20.0
"""Limit for reading a whole file while a user waits for the page."""
MEMORY_BYTES = 1 << 30
MAX_CONCURRENT = 2
"""Files read at a time per web process; others wait. Each may take `MEMORY_BYTES`, and the limits are
wall-clock seconds."""
START_SECONDS = 30.0
"""Limit for the start of the fork server."""

Reader = Callable[Concatenate[bytes, ...], bytes]
"""A module's function from a file's content and JSON options to bytes; it may raise `ExchangeError`."""
Worker = Callable[Concatenate[socket.socket, ...], None]
"""A module's function that answers requests from a connection until that ends."""


class SlowFileError(ExchangeError):
    """Reading a file took longer than its limit."""


def read_isolated(
    reader: Reader, content: bytes, *, seconds: float = RECOGNITION_SECONDS, **options: Any
) -> bytes:
    """Call a reader in a process of its own.

    Args:
        reader: A function of a module.
        content: Content of the file.
        seconds: Wall-clock limit.
        options: Keyword arguments of the reader, as JSON.

    Raises:
        ExchangeError: The reader refused the file, or needed more than `MEMORY_BYTES`.
        SlowFileError: It took more than `seconds`.
    """
    request = {
        "function": f"{reader.__module__}.{reader.__qualname__}",
        "options": options,
        "seconds": seconds,
        "memory": MEMORY_BYTES,
    }
    own_end, server_end = socket.socketpair()
    with _slots, own_end:
        own_end.settimeout(seconds + START_SECONDS)
        with server_end:
            _server.send(json.dumps(request).encode(), server_end)
        started = time.monotonic()
        answer = _exchange(own_end, content)
    if not answer:
        charge(time.monotonic() - started)
    if not answer and time.monotonic() - started >= seconds:
        raise SlowFileError(
            f"reading it took longer than {seconds:g} s and was given up: no known format takes so long; "
            "split the file, or read it with `manage.py import`"
        )
    if not answer:
        raise RuntimeError(f"the process that reads files ended without an answer: {request['function']}")
    status, cpu_seconds = ANSWER_HEAD.unpack_from(answer)
    charge(cpu_seconds)
    if status != DONE:
        raise ExchangeError(answer[ANSWER_HEAD.size :].decode())
    return answer[ANSWER_HEAD.size :]


def open_worker(worker: Worker, memory: int, **options: Any) -> socket.socket:
    """Start a process that stays; the connection to it is its life.

    Args:
        worker: A function of a module, called with the process's end of the connection.
        memory: Bytes that it may take in addition to those of the fork server.
        options: Keyword arguments of the worker, as JSON.
    """
    request = {
        "function": f"{worker.__module__}.{worker.__qualname__}",
        "options": options,
        "memory": memory,
        "stays": True,
    }
    own_end, server_end = socket.socketpair()
    with server_end:
        _server.send(json.dumps(request).encode(), server_end)
    return own_end


def charge(cpu_seconds: float) -> None:
    """Charge the request's visitor for the processor time."""
    if (meter := METER.get()) is not None:
        meter.seconds += cpu_seconds


def _exchange(connection: socket.socket, content: bytes) -> bytes:
    """Send the content and receive the answer; b"" if the process died or timed out."""
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
    """The fork server of this process: started at the first request, and again after its death."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def send(self, request: bytes, connection: socket.socket) -> None:
        with self._lock:
            if self._requests is None or self._owner != os.getpid():
                self._requests = self._start()
            try:
                socket.send_fds(self._requests, [request], [connection.fileno()])
            except (BrokenPipeError, ConnectionResetError, TimeoutError):
                self._requests = self._start()
                socket.send_fds(self._requests, [request], [connection.fileno()])

    def _start(self) -> socket.socket:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()  # where it hangs
        own_end, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own_end.settimeout(START_SECONDS)
        self._owner = os.getpid()
        with peer:
            self._process = subprocess.Popen(  # noqa: S603  there is no shell
                [sys.executable, str(settings.BASE_DIR / "manage.py"), "reading-server", str(peer.fileno())],
                env={**os.environ, "PMWEB_HOME": str(settings.HOME)},
                stdin=subprocess.DEVNULL,
                pass_fds=[peer.fileno()],
                start_new_session=True,
            )
        return own_end


_server = _Server()
_slots = threading.BoundedSemaphore(MAX_CONCURRENT)
