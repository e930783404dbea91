"""What commands on stored data have in common: errors in words, files, code, options of requests."""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser, _ActionsContainer
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from inference.core.errors import InvalidInputError
from inference.formats.errors import ExchangeError
from inference.isa.blocks import Block, piece_of, read
from inference.isa.code.errors import BlockError
from inference.isa.search import SearchError
from inference.isa.targets import DEFAULT
from inference.predictors.protocol import PredictorError
from inference.runs.errors import RunsError
from inference.runs.request import RequestPart
from inference.web.validation import RequestError

REFUSALS = (
    BlockError,
    ExchangeError,
    InvalidInputError,
    PredictorError,
    RequestError,
    RunsError,
    SearchError,
)
"""Errors whose message says what in the input is wrong: a command prints it and exits with status 1."""


class DataCommand(BaseCommand):
    """Says in words, not by a traceback, that there is no data yet or that nobody can get at it."""

    requires_system_checks = ()  # checks would load every page of the site first
    makes_data = False
    """Whether it prepares a data directory in which nothing is yet, as the first start of a site does."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; raises `CommandError` for input that is refused, and where no database answers."""
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
        """The database, empty but for the built-in instruction sets."""
        call_command("migrate", verbosity=0)
        call_command("load-isa", "x86-64", "AArch64", stdout=io.StringIO())
        self.stderr.write(f"prepared {settings.HOME}: it was empty")

    def deliver(self, text: str, file: Path | None) -> None:
        """Write the text to the file, or print it as it is where there is none. Raises `CommandError`."""
        if file is None:
            self.stdout.write(text, ending="")
        else:
            write_file(file, text.encode())


def _is_new() -> bool:
    """Whether there is no database file yet; a database server's is prepared by the site."""
    database = connections[DEFAULT_DB_ALIAS]
    if not isinstance(database, DatabaseWrapper) or database.is_in_memory_db():
        return False
    return not Path(database.settings_dict["NAME"]).exists()


def write_file(path: Path, content: bytes) -> None:
    """Make the file, or write it anew; raises `CommandError` that says why it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error


MOST_BYTES = 16 * 2**20
"""Of a file; a listing of 200,000 lines has fewer."""


def add_piece_option(parser: ArgumentParser) -> None:
    """`--piece`: one loop or straight piece of the text."""
    parser.add_argument(
        "--piece",
        metavar="NAME|N",
        default="",
        help="only this loop or straight piece of the code, by its name or number in `manage.py decode`",
    )


def blocks_of_file(
    file: str, piece: str, most: int, warn: Callable[[str], object], isa: str = DEFAULT
) -> list[Block]:
    """The blocks of a file, `-` for the standard input, or one of them. Raises `CommandError`.

    `warn` gets a sentence about each line that looks like code and is in no block.
    """
    reading = read(text_of_file(file), most, isa)
    chosen = [piece_of(reading.pieces, piece)] if piece else reading.pieces
    for dropped in reading.dropped:
        warn(f"warning: {dropped}")
    return [one.block for one in chosen]


def text_of_file(file: str) -> str:
    """What a file has, `-` for the standard input. Raises `CommandError`."""
    try:
        if file == "-":
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise CommandError(f"{file} has more than {MOST_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise CommandError(f"{file} is no UTF-8: see line {number}") from error


def add_request_options(parser: _ActionsContainer, request: type[RequestPart], **fields: str) -> None:
    """Add an option for each of these fields, by its name, with its help.

    The word for a value may stand before the help, as in "N: how many"; limits are left to the request, whose
    error names the field.
    """
    for name, text in fields.items():
        shape, usual = request.shape(name), request.usual(name)
        metavar, colon, rest = text.partition(": ")
        is_named = bool(colon) and metavar.isupper()
        options: dict[str, Any] = {"help": rest if is_named else text, "default": usual}
        if shape.choices:
            options["choices"] = shape.choices
        elif shape.kind in (int, float):
            options["type"] = shape.kind
        if is_named:
            options["metavar"] = metavar
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
