"""`manage.py fork-server`: forks the processes that execute runs."""

from __future__ import annotations

import os
import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from inference.runs.child import PARENT_VARIABLE
from inference.runs.fork_server import RunForkServer
from inference.runs.lifeline import set_parent_death_signal


class Command(BaseCommand):
    """Serves the supervisor of runs, and ends with that process."""

    help = "Internal: start processes for runs. Started by workers; `work` starts a worker."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("requests", type=int, metavar="DESCRIPTOR")

    def handle(self, *args: Any, **options: Any) -> None:
        if PARENT_VARIABLE not in os.environ:
            raise CommandError("fork-server is started by a worker: use `manage.py work`")
        with socket.socket(fileno=options["requests"]) as requests:
            if set_parent_death_signal(int(os.environ[PARENT_VARIABLE])):
                RunForkServer(requests).serve()
