"""The server of `reading_process`: forks a process for each file that is to be read.

It has imported what reads files, and has neither threads nor a connection to the database. A request comes
over its socket: a JSON object with the dotted name of a function, its options and limits, and the descriptor
of a connection, over which the process gets the file and sends its answer. The kernel ends a process at its
time limit, also where it holds the interpreter.
"""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import socket
import struct
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from django.utils.module_loading import import_string

from inference.formats import other_formats
from inference.formats.problems import ExchangeError
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
