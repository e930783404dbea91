"""Any command as a predictor: called once per block, or kept running and asked line by line."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.containment import CannotStartError, FileAccess, access_of
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_number, choice, setting
from inference.isa.blocks import BlockError
from inference.predictors.calling import (
    AROUND,
    FORMS,
    INTEL,
    NOTHING,
    TEXTS,
    Call,
    CalledTool,
    CallSettings,
    Workers,
    content_of,
    cpu_count,
    digest_of,
    framed,
    line_of,
)
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.permission import COMMAND
from inference.predictors.protocol import Answer, Failure, PredictorError

KIND = "command"
INSTALL = "give the command, as absolute paths: each call has an empty directory of its own"
ONCE, LINES = "once", "lines"
FILE = "{file}"
"""Placeholder in a command for the name of the block's file; without it, the block is the standard input."""

_FIRST_SECONDS = 120.0  # for the first call at most: a tool may compile or load something
_CODE_NAMES = {"object": "block.o", "bytes": "block.bin", "hex": "block.hex"}


@dataclass(frozen=True)
class CommandSettings(CallSettings):
    """The called command, the form of its input, and how its answer is read."""

    command: tuple[str, ...] = setting(
        (),
        f"program and arguments, each a word of its own, no shell; {FILE} stands for the block's file",
        None,
        chooses=COMMAND,
    )
    title: str = setting("", "name in lists; empty: the program's name", None)
    form: str = choice(INTEL, FORMS, "format of a block: assembly, digits, machine code, or ELF", None)
    around: str = choice(NOTHING, AROUND, "code around the block: a loop, or IACA's markers", None)
    protocol: str = choice(
        ONCE,
        (ONCE, LINES),
        "once: a call per block; lines: one process that answers each line with a line",
        None,
    )
    pattern: str = setting(r"(\d+(?:\.\d+)?)", "regular expression whose group is the number", None)
    scale: float = setting(1.0, "factor from that number to cycles per execution of the block", None)
    unknown: str = setting("", "regular expression for output that reports an unknown instruction", None)
    version: str = setting(
        "", "any word that changes when the tool does; its file's content counts as well", None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        command: object = self.command
        words = _split(command) if isinstance(command, str) else list(self.command)
        if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
            raise InvalidInputError("command must be a list of words, the first the program")
        object.__setattr__(self, "command", tuple(words))
        check_number("scale", self.scale, 1e-9, 1e9)
        if self.protocol == LINES and (self.form not in TEXTS or FILE in "".join(self.command)):
            raise InvalidInputError(
                f"a command that answers lines takes blocks as {', '.join(TEXTS)}, and no {FILE}"
            )
        CyclesPattern(self.pattern, self.scale, self.unknown)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInputError(f"command must be a list of words, or a text of such: {error}") from error


def make(settings: CommandSettings) -> CalledTool | LineCommand:
    """The command as a predictor.

    Raises:
        PredictorError: Where its program is missing.
        CannotStartError: For words that name a file that it must not open.
    """
    program = shutil.which(settings.command[0])
    if program is None:
        raise PredictorError(f"there is no program {settings.command[0]}: {INSTALL}")
    command = [str(Path(program).absolute()), *settings.command[1:]]
    access = access_of(command)  # first: nothing of a private file becomes part of an identity
    name = settings.title or Path(program).name
    identity = _identity(settings, command)
    reading = CyclesPattern(settings.pattern, settings.scale, settings.unknown)
    if settings.protocol == LINES:
        return LineCommand(name, identity, command, reading, settings, access)
    call = _call(command, settings)
    return CalledTool(name, identity, call, reading, settings, advice=INSTALL, probed=False, access=access)


class LineCommand:
    """A command that is kept running in several processes and answers a line for each line."""

    def __init__(
        self,
        name: str,
        identity: Json,
        command: Sequence[str],
        reading: CyclesPattern,
        settings: CommandSettings,
        access: FileAccess,
    ) -> None:
        self._name = name
        self._identity = identity
        self._reading = reading
        self._settings = settings
        self._workers = Workers(
            command,
            settings.processes or cpu_count(),
            settings.limits,
            first_seconds=max(settings.seconds, min(_FIRST_SECONDS, 4 * settings.seconds)),
            access=access,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> Json:
        return self._identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        try:
            return self._workers.answers([self._line(block) for block in blocks], self._read)
        except CannotStartError as error:
            raise PredictorError(f"{self._name}: {error}; {INSTALL}") from error

    def close(self) -> None:
        self._workers.close()

    def _line(self, block: bytes) -> bytes | Answer:
        try:
            return line_of(framed(block, self._settings.around), self._settings.form).encode()
        except BlockError as error:
            return Answer(failure=Failure.UNSUPPORTED, detail=error.message)

    def _read(self, line: bytes) -> Answer:
        return self._reading.of_text(line.decode(errors="replace"))


def _call(command: Sequence[str], settings: CommandSettings) -> Callable[[bytes], Call]:
    file = _CODE_NAMES.get(settings.form, "block.s")
    words = [word.replace(FILE, file) for word in command]

    def call(block: bytes) -> Call:
        content = content_of(framed(block, settings.around), settings.form)
        return Call(words, files={file: content}) if words != list(command) else Call(words, stdin=content)

    return call


def _identity(settings: CommandSettings, command: Sequence[str]) -> Json:
    """The words of the command and the contents of the files among them."""
    digests = [digest_of(word) for word in command if Path(word).is_absolute() and Path(word).is_file()]
    return {
        "kind": KIND,
        "command": list(settings.command),
        "files": digests,
        "version": settings.version,
        "form": [settings.form, settings.around, settings.protocol],
        "reading": [settings.pattern, settings.scale, settings.unknown],
        "seconds": settings.seconds,
    }
