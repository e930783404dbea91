"""`manage.py work`: claims runs and does them, until it is told to stop."""

from __future__ import annotations

import logging
import time
from argparse import ArgumentTypeError
from contextlib import suppress
from functools import partial
from typing import Any

from channels.management.commands.runworker import Command as RunWorkerCommand
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import OperationalError, connection

from inference.models.schema import schema
from inference.runs.data_directory import repair
from inference.runs.errors import NewerDatabaseError, NotPrivateError
from inference.runs.wakeups import WORK
from inference.runs.worker import RunWorker


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"a whole number ≥ 1 is expected, not {text!r}")
    return int(text)


class Command(RunWorkerCommand):
    """Channels' `runworker` with durable runs behind it."""

    help = "Work on runs, each in a process of its own. SIGTERM puts them back into the queue and ends."
    worker_class: Any = RunWorker
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        """`runworker`'s options, its channels preset, and the number of inferences at a time."""
        super().add_arguments(parser)
        for action in parser._actions:
            if action.dest == "channels":
                action.nargs, action.default, action.required = "*", [WORK], False
        parser.add_argument(
            "--jobs",
            type=_count,
            default=1,
            metavar="N",
            help="inferences at a time (1); measuring, and imports and evaluations, have slots of their own",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Work until SIGTERM or SIGINT; before that, wait for a database that is prepared."""
        try:
            with suppress(OSError):  # where no data directory can be made, nothing is written
                repair(settings.HOME)
            wait_for_database()
        except (NewerDatabaseError, NotPrivateError) as error:
            raise CommandError(f"{error}.") from error
        self.worker_class = partial(RunWorker, jobs=options["jobs"])
        super().handle(*args, **options)


logger = logging.getLogger(__name__)

_LOOK_EVERY = 2.0


def wait_for_database() -> None:
    """Returns when the database has the tables that this program works with; says once why it waits.

    Raises `NewerDatabaseError`.
    """
    told = ""
    while reason := _hindrance():
        if reason != told:
            logger.warning("waiting: %s", reason)
            told = reason
        time.sleep(_LOOK_EVERY)
    connection.close()


def _hindrance() -> str:
    try:
        found = schema()
    except OperationalError as error:
        connection.close()
        return f"the database does not answer: {error}"
    if found.unknown:
        raise NewerDatabaseError(
            f"the database was made by a newer version of pmweb (unknown here: {', '.join(found.unknown)}): "
            "get that version on this computer too"
        )
    return (
        "the database is not prepared: `manage.py up` or `manage.py serve` does that" if found.lacks else ""
    )
