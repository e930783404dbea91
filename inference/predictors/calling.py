"""Programs that predict blocks: called per block or per batch, or kept running, several at a time.

`CalledTool` calls its program once per block. Batches are for tools that take many blocks at a time, and may
fail as a whole; `Workers` answer one line for each line. At the end are the forms in which programs take a
block.
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
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.permission import PROGRAM
from inference.predictors.protocol import Answer, Failure, PredictorError

PROBE = bytes.fromhex("4801d8")
"""`add rax, rbx`: a tool without a number for it is not set up."""

_MAX_DIGESTED_BYTES = 256 << 20
"""Of a program; of a larger one, size and time of change stand for the content."""


@dataclass(frozen=True)
class CallSettings:
    """Limits of a program that is called once per block."""

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
    """The path of a tool's program, and its limits."""

    program: str = setting(
        "", "path of the program; empty: where its installation puts it", None, chooses=PROGRAM
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.program and not Path(self.program).is_absolute():
            raise InvalidInputError(f"program must be an absolute path, not {self.program!r}")


@dataclass(frozen=True)
class Call:
    """A program's call for one block: words, standard input, files of its directory, environment."""

    command: Sequence[str]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str = ""


class CalledTool:
    """A predictor that calls a program for each block. Threads may share it.

    Args:
        name: For people.
        identity: See `Predictor`.
        call: The call for a block.
        reading: How its output is read.
        settings: Limits of a call.
        advice: Added to the error where the program does not work.
        probed: Whether it must give a number for a plain addition before the first answer.
        access: Files that it may open, if that does not follow from its command.
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
        """End the threads; no process is kept running between calls."""
        self._pool.shutdown(cancel_futures=True)

    def answer(self, block: bytes) -> Answer:
        """The answer of one call. Raises `PredictorError` where the program is missing."""
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
        """Check once that the tool predicts a plain addition, if it is `probed`.

        Raises:
            PredictorError: It does not.
        """
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
    """A digest of a program or a file of parameters, for identities. Raises `PredictorError`."""
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
"""Answers for a batch, None where none came, and the answer for a single item that never gets one."""

_MIN_BATCH = 16
"""Batches are not made smaller than this to occupy a second process."""


def cpu_count() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def in_batches(
    items: Sequence[Item], ask: Ask[Item, Reply], max_items: int, pool: ThreadPoolExecutor
) -> list[Reply]:
    """The replies to all items, in their order.

    Args:
        items: Such as blocks.
        ask: Answers a batch; items without an answer are asked again (`retry_until_answered`).
        max_items: Largest number of items of a batch; smaller ones keep the threads of the pool busy.
        pool: Runs the batches.
    """
    batches = list(pool.map(lambda batch: retry_until_answered(batch, ask), _batches(items, max_items)))
    return [answer for batch in batches for answer in batch]


def retry_until_answered(items: Sequence[Item], ask: Ask[Item, Reply]) -> list[Reply]:
    """Ask again for items without an answer: all of them where there was progress, else in halves.

    So an item that makes a tool crash or hang costs a few more calls, and the others get their answers.
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

    The state that a question leaves in a worker does not affect others: the worker is restarted for the next
    question.
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
        """An answer for each line, as `read` understands it; a line that is an answer already stays.

        Raises:
            CannotStartError: Where the command cannot be started.
        """
        return list(
            self._pool.map(lambda line: line if isinstance(line, Answer) else self._answer(line, read), lines)
        )

    def greeting(self, line: bytes) -> bytes:
        """The reply of one worker to a line. Raises `WorkerError`, `CannotStartError`."""
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
        """Ask an idle worker; one that crashed is asked once more, in a fresh process."""
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
    """The block in one line of text: digits, or instructions separated by semicolons. Raises `BlockError`."""
    if form == HEX:
        return code.hex()
    return "; ".join(att_of_bytes(code) if form == ATT else intel_of_bytes(code))


def content_of(code: bytes, form: str) -> bytes:
    """The block as the content of a file; Intel syntax is declared. Raises `BlockError`."""
    if form == BYTES:
        return code
    if form == OBJECT:
        return object_file(code)
    if form == HEX:
        return f"{code.hex()}\n".encode()
    if form == ATT:
        return ("\n".join(att_of_bytes(code)) + "\n").encode()
    return ("\n".join((".intel_syntax noprefix", *intel_of_bytes(code))) + "\n").encode()
