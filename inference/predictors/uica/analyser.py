"""uiCA or Facile as a predictor: several workers of `worker.py`, kept loaded."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inference.containment import CannotStartError, WorkerError, access_of
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import choice, setting
from inference.isa.blocks import BlockError, block_of_bytes
from inference.isa.code.block import default_copies
from inference.measuring.blocks import MODES, UNROLLED
from inference.predictors.calling import AROUND, LOOP, ToolSettings, Workers, cpu_count, framed
from inference.predictors.permission import PROGRAM
from inference.predictors.processor_names import check_name, unknown_processor
from inference.predictors.protocol import Answer, Failure, PredictorError, own_error
from inference.predictors.uica.installation import INSTALL, find

_WORKER = Path(__file__).with_name("worker.py")
_FIRST_SECONDS = 120.0  # for the first answer: uiCA loads its tables, which takes seconds
_GREETING = b""
"""A line that a worker answers when it has loaded: a block then has its own time only."""


@dataclass(frozen=True)
class AnalyserSettings(ToolSettings):
    """The analysed processor, and where the tool is."""

    program: str = setting(
        "",
        "uiCA.py, its directory, or a Python that has machine-code-analyzer; empty: $PMWEB_UICA, else "
        "/opt/uiCA",
        None,
        chooses=PROGRAM,
    )
    python: str = setting(
        "", "the Python that runs it; empty: one that its module xed is built for", None, chooses=PROGRAM
    )
    arch: str = setting("HSW", "architecture, -arch", "HSW")
    around: str = choice(
        "nothing", AROUND[:2], "nothing: copies in a row; loop: the block in a loop", "nothing"
    )
    mode: str = choice(
        UNROLLED, MODES, "blocks without a jump: copies in a row, or in a loop as machines measure them", None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.python and not Path(self.python).is_absolute():
            raise InvalidInputError(f"python must be an absolute path, not {self.python!r}")
        check_name("arch", self.arch)


class WarmAnalyser:
    """A predictor that keeps workers of uiCA or Facile loaded; threads may share it.

    `tool`: `uica` or `facile`.

    `init`: the values that uiCA's registers start with.

    Raises:
        PredictorError: Where it is not installed or has no data of the processor; whether it works shows at
            the first question.
    """

    def __init__(self, tool: str, title: str, settings: AnalyserSettings, init: str = "") -> None:
        files = find(settings.program, settings.python)
        if settings.arch not in files.processors:
            raise PredictorError(unknown_processor("arch", title, settings.arch, files.processors))
        self._title, self._settings, self._python = title, settings, files.python
        self._identity: Json = {
            "kind": tool,
            "program": files.digest(settings.arch),
            "arch": settings.arch,
            "around": settings.around,
            **({"init": init} if init else {}),
            **({"mode": settings.mode} if settings.mode == LOOP else {}),
            "seconds": settings.seconds,
        }
        command = [files.python, "-I", str(_WORKER), str(files.directory), tool, settings.arch, init or "-"]
        count = settings.processes or cpu_count()
        self._workers = Workers(
            command,
            count,
            settings.limits,
            first_seconds=_FIRST_SECONDS,
            access=access_of(command, str(_WORKER), str(files.directory), str(files.decoder)),
            greeting=_GREETING,
        )
        self._checked = False
        self._checking = threading.Lock()

    @property
    def name(self) -> str:
        settings = self._settings
        around = ", in a loop" if settings.around == LOOP else ""
        return f"{self._title} · {settings.arch}{around}" + (" · loop" if settings.mode == LOOP else "")

    @property
    def identity(self) -> Json:
        return self._identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        try:
            self._check()
            answers = self._workers.answers([self._question(block) for block in blocks], self._read)
        except CannotStartError as error:
            raise PredictorError(f"{self._title}: {error}; {INSTALL}") from error
        return [self._per_copy(block, answer) for block, answer in zip(blocks, answers, strict=True)]

    def close(self) -> None:
        self._workers.close()

    def _question(self, block: bytes) -> bytes | Answer:
        try:
            around = LOOP if self._settings.mode == LOOP else self._settings.around
            return framed(block * self._copies(block), around).hex().encode()
        except BlockError as error:
            return Answer(failure=Failure.UNSUPPORTED, detail=error.message)

    def _copies(self, code: bytes) -> int:
        """Copies of the block in one iteration of the analysed code. Raises `BlockError`."""
        if self._settings.mode != LOOP:
            return 1
        block = block_of_bytes(code)
        return (
            1
            if block.kind == LOOP
            else default_copies(len(block.instructions), len(block.code), in_loop=True)
        )

    def _per_copy(self, code: bytes, answer: Answer) -> Answer:
        if answer.cycles is None:
            return answer
        return replace(answer, cycles=answer.cycles / self._copies(code))

    def _read(self, line: bytes) -> Answer:
        try:
            return self._answer_of(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            return Answer(failure=Failure.NO_NUMBER, detail=f"answered {line[:80]!r}")

    def _answer_of(self, answer: dict[str, Any]) -> Answer:
        if "error" in answer:
            return Answer(failure=Failure.CRASH, detail=own_error(self._title, answer["error"]))
        if undecoded := answer.get("undecoded"):
            detail = f"its decoder knows no instruction that begins with {undecoded[:30]}"
            return Answer(failure=Failure.UNSUPPORTED, detail=detail)
        if unknown := answer["unknown"]:
            detail = f"its data for {self._settings.arch} lacks: {'; '.join(unknown)}"
            return Answer(failure=Failure.UNSUPPORTED, detail=detail[:300])
        return Answer(cycles=float(answer["cycles"]))

    def _check(self) -> None:
        """Raise `PredictorError` unless a worker starts and knows the processor."""
        with self._checking:
            if self._checked:
                return
            try:
                architectures = json.loads(self._workers.greeting(_GREETING))["architectures"]
            except (WorkerError, ValueError, KeyError, TypeError) as error:
                raise PredictorError(
                    f"{self._title} does not work with {self._python}: {error}; {INSTALL}"
                ) from error
            if self._settings.arch not in architectures:
                raise PredictorError(
                    unknown_processor("arch", self._title, self._settings.arch, architectures)
                )
            self._checked = True
