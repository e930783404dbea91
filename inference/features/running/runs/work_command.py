"""`manage.py work`: claims and executes runs until it is stopped."""

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
from inference.runs.data_directory import make_contents_private
from inference.runs.errors import NewerDatabaseError, NotPrivateError
from inference.runs.wakeups import WORK
from inference.runs.worker import RunWorker


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"a whole number ≥ 1 is expected, not {text!r}")
    return int(text)


class Command(RunWorkerCommand):
    """Channels' `runworker` extended by durable runs."""

    help = "Execute runs, each in its own process. SIGTERM requeues them and ends the worker."
    worker_class: Any = RunWorker
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        for action in parser._actions:
            if action.dest == "channels":
                action.nargs, action.default, action.required = "*", [WORK], False
        parser.add_argument(
            "--jobs",
            type=_count,
            default=1,
            metavar="N",
            help="inferences at a time (1); measurements, imports and evaluations do not count",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Waits for a migrated database, then works until SIGTERM or SIGINT."""
        try:
            with suppress(OSError):  # without a data directory there is nothing to protect
                make_contents_private(settings.HOME)
            wait_for_database()
        except (NewerDatabaseError, NotPrivateError) as error:
            raise CommandError(f"{error}.") from error
        self.worker_class = partial(RunWorker, jobs=options["jobs"])
        super().handle(*args, **options)


logger = logging.getLogger(__name__)

_POLL_INTERVAL = 2.0  # seconds


def wait_for_database() -> None:
    """Blocks until all migrations are applied; logs each reason for waiting once.

    Raises `NewerDatabaseError`.
    """
    last_reason = ""
    while reason := _obstacle():
        if reason != last_reason:
            logger.warning("waiting: %s", reason)
            last_reason = reason
        time.sleep(_POLL_INTERVAL)
    connection.close()


def _obstacle() -> str:
    try:
        database = schema()
    except OperationalError as error:
        connection.close()
        return f"the database does not answer: {error}"
    if database.unknown:
        raise NewerDatabaseError(
            f"the database is of a newer version of pmweb (unknown here: {', '.join(database.unknown)}): "
            "get that version on this computer too"
        )
    return (
        "the database is not prepared: `manage.py up` or `manage.py serve` does that"
        if database.needs_migration
        else ""
    )
