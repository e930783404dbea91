"""Base of commands on stored data: error messages, files, code, options from request fields."""

from __future__ import annotations

import io
import json
import sys
import time
from argparse import ArgumentParser, _ActionsContainer
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from inference.core.errors import InvalidInputError
from inference.formats.problems import ExchangeError
from inference.isa.blocks import BlocksOfText, Piece, piece_of, read
from inference.isa.code.block import Block, BlockError
from inference.isa.search import SearchError
from inference.isa.targets import DEFAULT, FOLDERS
from inference.predictors.protocol import PredictorError
from inference.runs.errors import RunsError
from inference.runs.request import RequestPart
from inference.web.validation import RequestError

_PROGRESS_INTERVAL = 1.0  # seconds between two lines


class ReadingProgress:
    """Writes a line per second about how much of a file is read; nothing about what takes no longer."""

    def __init__(self, output: OutputWrapper, path: Path) -> None:
        self._output, self._name = output, path.name
        self._total = path.stat().st_size
        self._start = self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < _PROGRESS_INTERVAL or not done:
            return
        self._last = now
        seconds = (now - self._start) * (self._total - done) / done
        size = f"{done / 2**20:.0f} of {self._total / 2**20:.0f} MiB"
        self._output.write(f"{self._name}: {size} read, {seconds:.0f} s left")


REFUSALS = (
    BlockError,
    ExchangeError,
    InvalidInputError,
    PredictorError,
    RequestError,
    RunsError,
    SearchError,
)
"""Errors of the input: a command prints the message and exits with status 1."""


class DataCommand(BaseCommand):
    """A command that reports wrong input and a missing database without a traceback."""

    requires_system_checks = ()  # checks would load every page of the site
    makes_data = False
    """Whether it prepares an empty data directory, like the first start of a site."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; raises `CommandError` for wrong input and without a usable database."""
        try:
            if self.makes_data and _is_new():
                self._prepare()
            return super().execute(*args, **options)
        except REFUSALS as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(
                f"there is no usable database in {settings.HOME} ({error}). Start the site once with "
                "`make run`, or set PMWEB_HOME to where its data is."
            ) from error

    def _prepare(self) -> None:
        """Create the database and load the built-in instruction sets."""
        call_command("migrate", verbosity=0)
        call_command("load-isa", *FOLDERS, stdout=io.StringIO())
        self.stderr.write(f"prepared {settings.HOME}: it was empty")

    def print_answer(self, answer: Any, lines: Iterable[str], *, as_json: bool) -> None:
        """Print an answer as one line of JSON, or the lines that say it in words."""
        for line in [json.dumps(answer, ensure_ascii=False)] if as_json else lines:
            self.stdout.write(line)

    def write_output(self, text: str, file: Path | None) -> None:
        """Write the text to the file, or to standard output if that is None. Raises `CommandError`."""
        if file is None:
            self.stdout.write(text, ending="")
        else:
            write_file(file, text.encode())


def _is_new() -> bool:
    """Whether the file of an SQLite database is missing; the site prepares those of servers."""
    database = connections[DEFAULT_DB_ALIAS]
    if not isinstance(database, DatabaseWrapper) or database.is_in_memory_db():
        return False
    return not Path(database.settings_dict["NAME"]).exists()


def write_file(path: Path, content: bytes) -> None:
    """Write the file, replacing an existing one. Raises `CommandError`."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error


MAX_FILE_BYTES = 16 * 2**20
"""Largest size of a file of code; a listing of 200,000 lines is smaller."""


def add_piece_option(parser: ArgumentParser) -> None:
    """Add `--piece`, which selects one loop or straight piece of the code."""
    parser.add_argument(
        "--piece",
        metavar="NAME|N",
        default="",
        help="only this loop or straight piece of the code, by its name or number in `manage.py decode`",
    )


def blocks_of_file(
    file: str, piece: str, limit: int, warn: Callable[[str], object], isa: str = DEFAULT
) -> list[Block]:
    """The blocks in a file of code.

    Args:
        file: Path; `-` for the standard input.
        piece: Name or number of the only block wanted; "" for all.
        limit: Largest number of blocks.
        warn: Gets a sentence about each line that looks like code but is in no block.
        isa: Instruction set of the code.

    Raises:
        CommandError: The file cannot be read.
    """
    _, block = pieces_of_file(file, piece, limit, warn, isa)
    return [code_piece.block for code_piece in block]


def pieces_of_file(
    file: str, piece: str, limit: int, warn: Callable[[str], object], isa: str = DEFAULT
) -> tuple[BlocksOfText, Sequence[Piece]]:
    """All that was read of a file of code, and the chosen pieces of it; arguments as of `blocks_of_file`."""
    parsed = read(text_of_file(file), limit, isa)
    for dropped in parsed.dropped:
        warn(f"warning: {dropped}")
    return parsed, [piece_of(parsed.pieces, piece)] if piece else parsed.pieces


def text_of_file(file: str) -> str:
    """Content of a UTF-8 file, `-` for the standard input. Raises `CommandError`."""
    try:
        if file == "-":
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    if len(content) > MAX_FILE_BYTES:
        raise CommandError(f"{file} has more than {MAX_FILE_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise CommandError(f"{file} is not UTF-8: see line {number}") from error


def add_request_options(parser: _ActionsContainer, request: type[RequestPart], **fields: str) -> None:
    """Add an option per field of the request, with its default and choices.

    `fields` are the help texts; one may begin with a metavar, as in "N: how many". The request itself checks
    limits, and its error names the field.
    """
    for name, text in fields.items():
        shape, default = request.shape(name), request.default_of(name)
        metavar, colon, description = text.partition(": ")
        is_named = bool(colon) and metavar.isupper()
        options: dict[str, Any] = {"help": description if is_named else text, "default": default}
        if shape.choices:
            options["choices"] = shape.choices
        elif shape.kind in (int, float):
            options["type"] = shape.kind
        if is_named:
            options["metavar"] = metavar
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
