"""A program that is called once per block, several at a time."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from inference.containment import CannotStartError, FileAccess, Limits, run
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_choices, check_number, check_whole, setting
from inference.isa.blocks import BlockError
from inference.predictors.batches import cores
from inference.predictors.permission import PROGRAM
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.predictors.reading import CyclesPattern

PROBE = bytes.fromhex("4801d8")
"""`add rax, rbx`: a tool that gives no number for it is not set up."""

_LARGEST_DIGESTED = 256 << 20


@dataclass(frozen=True)
class CallSettings:
    """How much a program may take that is called once per block."""

    processes: int = setting(0, "calls at a time; 0: one per processor", 20)
    seconds: float = setting(30.0, "time for one block", 10)
    memory: int = setting(4096, "MiB of addresses for one call", None)

    def __post_init__(self) -> None:
        check_choices(self)
        check_whole("processes", self.processes, 0, 1024)
        check_number("seconds", self.seconds, 0.1, 3600)
        check_whole("memory", self.memory, 64, 1 << 20)

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
    given: bytes = b""
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
        self._pool = ThreadPoolExecutor(settings.processes or cores(), thread_name_prefix=name)
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
                call.given,
                limits=self._limits,
                files=call.files,
                environment=call.environment,
                elsewhere=call.elsewhere,
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
    if size > _LARGEST_DIGESTED:
        return f"{size} bytes of {changed}"
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
