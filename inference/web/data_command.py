"""The base of the commands that work on stored data, and how they write files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from inference.core.errors import InvalidInputError
from inference.formats.problems import ExchangeError
from inference.isa.code.block import BlockError
from inference.isa.search import SearchError
from inference.predictors.protocol import PredictorError
from inference.runs.errors import RunsError
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
