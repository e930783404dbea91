"""Reads pasted text in processes that stay, beside the web process: `inference.isa.blocks.read` for pages and
API.

A process ends when a text takes too long or too much memory; the next text has another one, forked from the
server of `inference.web.reading_process`, whose tables are loaded. The processes open no files but the
program's own, and start no others. What they answer is decoded here from machine code, never from text.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import struct
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import inference
from inference.core.protocols import Json
from inference.isa import blocks
from inference.isa.blocks import Block, BlocksOfText, Piece, block_of_bytes
from inference.isa.code.annotations import InstructionLine, SourcePlace
from inference.isa.code.block import BlockError, DroppedLine
from inference.isa.code.pasted_blocks import refuse_dropped
from inference.isa.targets import DEFAULT
from inference.sandbox import files, kernel
from inference.web.reading_process import START_SECONDS, charge, open_worker

TEXT_SECONDS = 5.0
"""Limit for reading a text; the longest that forms accept takes a tenth of it."""
MEMORY_BYTES = 512 << 20
MAX_CONCURRENT = 4
"""Texts read at a time per web process, each by a process of its own; others wait."""
_WAIT_SECONDS = 10.0
"""Limit for waiting until one of these is free."""

_GRACE_SECONDS = 1.0
"""Beyond the limit, for a process that does not even end at it: it was stopped, or the computer is busy."""

_REQUEST_HEAD = struct.Struct("=I")
_ANSWER_HEAD = struct.Struct("=c?dI")
"""Status; whether the process ends with this answer; seconds of processor time; bytes that follow."""
_READY = b"r"
"""The first byte from a process: what it is asked from then on takes no time of its start."""
_READ, _REFUSED, _TOO_LARGE = b"+", b"-", b"m"


class UnreadTextError(BlockError):
    """No process could read the text: it took too long or too much memory, or the process died."""


def read(text: str, max_blocks: int, isa: str = DEFAULT, usual: str = DEFAULT) -> BlocksOfText:
    """`inference.isa.blocks.read` in another process. Raises `BlockError`, also where that process fails.

    Args:
        isa: The name of an instruction set, or `DETECTED`.
        usual: The instruction set of texts that show none.
    """
    request = json.dumps({"text": text, "most": max_blocks, "isa": isa, "usual": usual}).encode()
    status, answer = _processes.exchange(request)
    content = json.loads(answer)
    if status == _REFUSED:
        raise BlockError(*content)
    return _reading_of(content)


def read_blocks(text: str, max_blocks: int, isa: str = DEFAULT) -> list[Block]:
    """The blocks of a text, at most `max_blocks`; see `read`. Raises `BlockError` for a dropped line, too."""
    reading = read(text, max_blocks, isa)
    refuse_dropped(reading.dropped)
    return [piece.block for piece in reading.pieces]


def start() -> None:
    """Start the first process in the background, so that the first text does not wait for it."""

    def read_first() -> None:
        with suppress(BlockError, OSError):  # the next text tells
            read("nop", 1)

    threading.Thread(target=read_first, name="first reading", daemon=True).start()


class _Processes:
    """The connections to the processes of this one: idle ones wait in a list, the last used first."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(MAX_CONCURRENT)
        self._idle: list[socket.socket] = []
        self._owner = os.getpid()

    def exchange(self, request: bytes) -> tuple[bytes, bytes]:
        """(status, content) of the answer. Raises `UnreadTextError`."""
        with self._slot():
            connection = self._idle_connection() or _new_connection()
            connection.settimeout(TEXT_SECONDS + _GRACE_SECONDS)
            started = time.monotonic()
            try:
                status, ends, answer = _ask(connection, request)
            except (OSError, EOFError):
                connection.close()
                seconds = time.monotonic() - started
                charge(seconds)
                raise UnreadTextError(_failure(seconds)) from None
            if ends:
                connection.close()
            else:
                self._idle.append(connection)
            if status == _TOO_LARGE:
                raise UnreadTextError(
                    f"reading this text takes more than {MEMORY_BYTES >> 20} MiB of memory: paste less of it"
                )
            return status, answer

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._slots.acquire(timeout=_WAIT_SECONDS):
            raise UnreadTextError("the readers of pasted text are busy: try again in some seconds")
        try:
            yield
        finally:
            self._slots.release()

    def _idle_connection(self) -> socket.socket | None:
        """The connection to a living process, None without any."""
        if self._owner != os.getpid():  # a fork: its parent goes on with these
            self._owner, self._idle = os.getpid(), []
        while self._idle:
            connection = self._idle.pop()
            with suppress(BlockingIOError), suppress(ConnectionError):
                connection.setblocking(False)
                connection.recv(1)  # the end of one that has died
                connection.close()
                continue
            return connection
        return None


def _new_connection() -> socket.socket:
    """The connection to a new process that is ready. Raises `UnreadTextError`."""
    connection = open_worker(answer_texts, MEMORY_BYTES, seconds=TEXT_SECONDS)
    connection.settimeout(START_SECONDS)
    try:
        _receive(connection, len(_READY))
    except (OSError, EOFError):
        connection.close()
        raise UnreadTextError("no process could be started that reads pasted text: try again") from None
    return connection


def _failure(seconds: float) -> str:
    if seconds >= TEXT_SECONDS:
        return f"reading this text took longer than {TEXT_SECONDS:g} s and was given up: paste less of it"
    return "the process that reads pasted text ended without an answer: try again, or paste less of it"


def _ask(connection: socket.socket, request: bytes) -> tuple[bytes, bool, bytes]:
    """(status, whether the process ends, content). Raises `EOFError` or `OSError` without an answer."""
    connection.sendall(_REQUEST_HEAD.pack(len(request)) + request)
    status, ends, cpu_seconds, size = _ANSWER_HEAD.unpack(_receive(connection, _ANSWER_HEAD.size))
    content = _receive(connection, size)
    charge(cpu_seconds)
    return status, ends, content


def _receive(connection: socket.socket, size: int) -> bytes:
    """Receives exactly `size` bytes. Raises `EOFError` if the connection ends earlier."""
    content = bytearray()
    while len(content) < size:
        part = connection.recv(min(size - len(content), 1 << 20))
        if not part:
            raise EOFError
        content += part
    return bytes(content)


_processes = _Processes()

_WARM_UP = """
.L3:
    vmovsd (%rdi,%rax,8), %xmm1     # LATENCY 5
    vfmadd231sd (%rsi,%rax,8), %xmm1, %xmm0
    incq %rax
    cmpq %rax, %rdx
    jne .L3

    mov rax, qword ptr [rdi+8]
    add rax, rbx; imul rcx, rax, 3
"""
_WARM_UP_LISTING = """
0000000000001040 <f>:
    s += a[i];
    1040:       48 01 d8                add    %rbx,%rax
    1043:       75 fb                   jne    1040 <f>
"""

_WARM_UP_AARCH64 = "1: ldr x2, [x0], #8\nadd x1, x1, x2\ncmp x0, x3\nb.ne 1b"


def load_reader() -> None:
    """Fill the tables of the reader: the first text of a process needs fifty times as long as the next."""
    for text in (_WARM_UP, _WARM_UP_LISTING, _WARM_UP_AARCH64, "4801d8"):
        _answer({"text": text, "most": 9, "isa": blocks.DETECTED, "usual": DEFAULT})
    with suppress(BlockError):
        blocks.read("frob rax", 1)


def answer_texts(connection: socket.socket, seconds: float) -> None:
    """Read texts until the connection ends; SIGALRM ends the process where one takes too long."""
    _confine()
    memory_limit = _peak_bytes() + MEMORY_BYTES // 2
    with suppress(EOFError, ConnectionError):
        connection.sendall(_READY)
        while True:
            (size,) = _REQUEST_HEAD.unpack(_receive(connection, _REQUEST_HEAD.size))
            request = json.loads(_receive(connection, size))
            before = time.process_time()
            signal.setitimer(signal.ITIMER_REAL, seconds)
            status, content = _answer(request)
            signal.setitimer(signal.ITIMER_REAL, 0)  # a truncated answer would look complete
            ends = status == _TOO_LARGE or _peak_bytes() > memory_limit
            head = _ANSWER_HEAD.pack(status, ends, time.process_time() - before, len(content))
            connection.sendall(head + content)
            if ends:
                return


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _confine() -> None:
    """Open no files but those of the program, and start no processes; what the kernel lacks is left out."""
    for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (0, 0))
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    if kernel.no_new_privileges():
        reads = (*libraries, str(Path(inference.__file__).parent), *sys.path[1:])
        files.restrict([place for place in reads if place], [])


def _answer(request: Json) -> tuple[bytes, bytes]:
    try:
        reading = blocks.read(request["text"], request["most"], request["isa"], request["usual"])
        return _READ, json.dumps(_as_json(reading)).encode()
    except BlockError as error:
        return _REFUSED, json.dumps([error.message, error.line, error.column]).encode()
    except MemoryError:
        return _TOO_LARGE, b"null"


def _as_json(reading: BlocksOfText) -> Json:
    sources: dict[SourcePlace | None, int] = {None: 0}

    def source_number(place: SourcePlace | None) -> int:
        return sources.setdefault(place, len(sources))

    pieces = [
        {
            "name": piece.name,
            "code": piece.block.code.hex(),
            "line": piece.line,
            "notes": piece.notes,
            "count": piece.count,
            "lines": [
                (line.line, source_number(line.source), line.samples, line.latency) for line in piece.lines
            ],
        }
        for piece in reading.pieces
    ]
    return {
        "isa": reading.pieces[0].block.isa,
        "pieces": pieces,
        "sources": [(place.file, place.line, place.text) for place in sources if place is not None],
        "skipped": reading.skipped,
        "notes": reading.notes,
        "dropped": [(line.line, line.text, line.reason) for line in reading.dropped],
    }


def _reading_of(document: Json) -> BlocksOfText:
    isa = document["isa"]
    sources = [None, *(SourcePlace(*place) for place in document["sources"])]
    return BlocksOfText(
        tuple(_piece_of(piece, isa, sources) for piece in document["pieces"]),
        document["skipped"],
        tuple(document["notes"]),
        tuple(DroppedLine(*line) for line in document["dropped"]),
    )


def _piece_of(piece: Any, isa: str, sources: Sequence[SourcePlace | None]) -> Piece:
    lines = (
        InstructionLine(line, sources[source], samples, latency)
        for line, source, samples, latency in piece["lines"]
    )
    return Piece(
        piece["name"],
        block_of_bytes(bytes.fromhex(piece["code"]), isa),
        piece["line"],
        tuple(piece["notes"]),
        piece["count"],
        tuple(lines),
    )
