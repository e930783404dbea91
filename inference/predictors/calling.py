"""Programs that are asked about blocks: called per block or per batch, or kept running, several at a time.

`CalledTool` is called once per block. Batches are for tools that take many blocks at a time, and may fail as
a whole; `Workers` answer one line for each line. At the end are the forms in which programs take a block.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from inference.containment import (
    CannotStartError,
    FileAccess,
    Limits,
    LineWorker,
    WorkerError,
    WorkerSlowError,
    run,
)
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_choices, check_integer, check_number, setting
from inference.isa.blocks import (
    BlockError,
    as_loop,
    att_of_bytes,
    intel_of_bytes,
    object_file,
    with_markers,
)
from inference.predictors.ambiguity import CyclesPattern
from inference.predictors.permission import PROGRAM
from inference.predictors.protocol import Answer, Failure, PredictorError

PROBE = bytes.fromhex("4801d8")
"""`add rax, rbx`: a tool that gives no number for it is not set up."""

_MAX_DIGESTED_BYTES = 256 << 20


@dataclass(frozen=True)
class CallSettings:
    """How much a program may take that is called once per block."""

    processes: int = setting(0, "calls at a time; 0: one per processor", 20)
    seconds: float = setting(30.0, "time for one block", 10)
    memory: int = setting(4096, "MiB of addresses for one call", None)

    def __post_init__(self) -> None:
        check_choices(self)
        check_integer("processes", self.processes, 0, 1024)
        check_number("seconds", self.seconds, 0.1, 3600)
        check_integer("memory", self.memory, 64, 1 << 20)

    @property
    def limits(self) -> Limits:
        return Limits(seconds=self.seconds, memory=self.memory)


@dataclass(frozen=True)
class ToolSettings(CallSettings):
    """Where a tool's program is, and how much it may take."""

    program: str = setting(
        "", "path of the program; empty: where its installation puts it", None, chooses=PROGRAM
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.program and not Path(self.program).is_absolute():
            raise InvalidInputError(f"program must be an absolute path, not {self.program!r}")


@dataclass(frozen=True)
class Call:
    """What is run for one block."""

    command: Sequence[str]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str = ""


class CalledTool:
    """A predictor made of a program: `call` says what is run for a block, `reading` what it means.

    `advice` is told where it cannot work; with `probed`, before anything else it must give a number for a
    plain addition. `access`: what it may open, if that is not what its command says. Threads may share it.
    """

    def __init__(
        self,
        name: str,
        identity: Json,
        call: Callable[[bytes], Call],
        reading: CyclesPattern,
        settings: CallSettings,
        *,
        advice: str,
        probed: bool = True,
        access: FileAccess | None = None,
    ) -> None:
        self._name = name
        self._identity = identity
        self._call = call
        self._reading = reading
        self._limits = settings.limits
        self._access = access
        self._advice = advice
        self._pool = ThreadPoolExecutor(settings.processes or cpu_count(), thread_name_prefix=name)
        self._checked = not probed
        self._checking = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> Json:
        return self._identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        self.check()
        return list(self._pool.map(self.answer, blocks))

    def close(self) -> None:
        """Nothing is kept running between questions but threads."""
        self._pool.shutdown(cancel_futures=True)

    def answer(self, block: bytes) -> Answer:
        """Of one call. Raises `PredictorError` where the program is missing."""
        try:
            call = self._call(block)
        except BlockError as error:
            return Answer(failure=Failure.UNSUPPORTED, detail=error.message)
        try:
            ended = run(
                call.command,
                call.stdin,
                limits=self._limits,
                files=call.files,
                environment=call.environment,
                working_directory=call.elsewhere,
                access=self._access,
            )
        except CannotStartError as error:
            raise PredictorError(f"{self._name}: {error}; {self._advice}") from error
        return self._reading.of_call(ended)

    def check(self) -> None:
        """Raise `PredictorError` unless it works for a plain addition, where that is asked for; once."""
        with self._checking:
            if self._checked:
                return
            tried = self.answer(PROBE)
            if tried.cycles is None:
                raise PredictorError(
                    f"{self._name} has no number even for `add rax, rbx` ({tried.failure}: {tried.detail}); "
                    f"{self._advice}"
                )
            self._checked = True


def digest_of(path: str) -> str:
    """What stands for the content of a program or a file of parameters in an identity."""
    try:
        facts = Path(path).stat()
    except OSError as error:
        raise PredictorError(f"{path} cannot be read: {error.strerror}") from error
    return _digest(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest(path: str, size: int, changed: int) -> str:
    if size > _MAX_DIGESTED_BYTES:
        return f"{size} bytes of {changed}"
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


Item = TypeVar("Item")
Reply = TypeVar("Reply")

Ask = Callable[[Sequence[Item]], tuple[Sequence[Reply | None], Reply]]
"""Answers for a batch, None where none came, and what is to be said of a single item without an answer."""

_MIN_BATCH = 16
"""A batch is not cut smaller for the sake of a second process."""


def cpu_count() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def in_batches(
    items: Sequence[Item], ask: Ask[Item, Reply], max_items: int, pool: ThreadPoolExecutor
) -> list[Reply]:
    """Ask for all items, in batches of at most `most` that keep the threads of the pool busy."""
    batches = list(pool.map(lambda batch: ask_until_answered(batch, ask), _batches(items, max_items)))
    return [answer for batch in batches for answer in batch]


def ask_until_answered(items: Sequence[Item], ask: Ask[Item, Reply]) -> list[Reply]:
    """Ask again for what got no answer: all of it where there was progress, else in halves.

    So one item that makes a tool crash or hang costs a few more calls, and the others get their answers.
    """
    results: list[Reply | None] = [None] * len(items)
    pending = [list(range(len(items)))] if items else []
    while pending:
        batch = pending.pop()
        answers, fallback = ask([items[index] for index in batch])
        unanswered = []
        for index, answer in zip(batch, answers, strict=True):
            results[index] = answer
            if answer is None:
                unanswered.append(index)
        if len(batch) == 1 and unanswered:
            results[batch[0]] = fallback
        elif len(unanswered) < len(batch):
            pending += [unanswered] if unanswered else []
        else:
            middle = len(batch) // 2
            pending += [batch[:middle], batch[middle:]]
    return [answer for answer in results if answer is not None]


def _batches(items: Sequence[Item], max_items: int) -> list[Sequence[Item]]:
    count = max(-(-len(items) // max_items), min(cpu_count(), len(items) // _MIN_BATCH))
    ends = [len(items) * k // max(count, 1) for k in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)] if count else [items]


class Workers:
    """`count` processes of a command that answers one line for each line; see `LineWorker`.

    Whatever a question makes of a worker stays with that worker: it is started anew for the next one.
    """

    def __init__(
        self,
        command: Sequence[str],
        count: int,
        limits: Limits,
        *,
        first_seconds: float,
        environment: Mapping[str, str] | None = None,
        access: FileAccess | None = None,
        greeting: bytes | None = None,
    ) -> None:
        self._idle: queue.SimpleQueue[LineWorker] = queue.SimpleQueue()
        self._workers = [
            LineWorker(
                command,
                limits,
                first_seconds=first_seconds,
                environment=environment,
                access=access,
                greeting=greeting,
            )
            for _ in range(count)
        ]
        for worker in self._workers:
            self._idle.put(worker)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="workers")

    def answers(self, lines: Sequence[bytes | Answer], read: Callable[[bytes], Answer]) -> list[Answer]:
        """An answer for each line, as `read` understands it; what is an answer already stays.

        Raises `CannotStartError`.
        """
        return list(
            self._pool.map(lambda line: line if isinstance(line, Answer) else self._answer(line, read), lines)
        )

    def greeted(self, line: bytes) -> bytes:
        """What one worker says to a line, whatever it may be. Raises `WorkerError`, `CannotStartError`."""
        worker = self._idle.get()
        try:
            return worker.ask(line)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _answer(self, line: bytes, read: Callable[[bytes], Answer]) -> Answer:
        worker = self._idle.get()
        try:
            try:
                answer = worker.ask(line)
            except WorkerSlowError:
                raise
            except WorkerError:  # perhaps what came before was to blame: once more in a fresh process
                answer = worker.ask(line)
        except WorkerSlowError as error:
            return Answer(failure=Failure.TIMEOUT, detail=str(error))
        except WorkerError as error:
            return Answer(failure=Failure.CRASH, detail=str(error))
        finally:
            self._idle.put(worker)
        return read(answer)


INTEL, ATT, HEX, BYTES, OBJECT = "intel", "att", "hex", "bytes", "object"
FORMS = (INTEL, ATT, HEX, BYTES, OBJECT)
TEXTS = (INTEL, ATT, HEX)

NOTHING, LOOP, MARKERS = "nothing", "loop", "markers"
AROUND = (NOTHING, LOOP, MARKERS)

_SURROUNDINGS: dict[str, Callable[[bytes], bytes]] = {LOOP: as_loop, MARKERS: with_markers}


def framed(code: bytes, around: str) -> bytes:
    """The block in a loop, between markers, or as it is. Raises `BlockError`."""
    return _SURROUNDINGS[around](code) if around in _SURROUNDINGS else code


def line_of(code: bytes, form: str) -> str:
    """The block in one line of text: digits, or instructions parted by semicolons. Raises `BlockError`."""
    if form == HEX:
        return code.hex()
    return "; ".join(att_of_bytes(code) if form == ATT else intel_of_bytes(code))


def content_of(code: bytes, form: str) -> bytes:
    """The block as the content of a file; Intel syntax says that it is. Raises `BlockError`."""
    if form == BYTES:
        return code
    if form == OBJECT:
        return object_file(code)
    if form == HEX:
        return f"{code.hex()}\n".encode()
    if form == ATT:
        return ("\n".join(att_of_bytes(code)) + "\n").encode()
    return ("\n".join((".intel_syntax noprefix", *intel_of_bytes(code))) + "\n").encode()
