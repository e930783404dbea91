"""`manage.py fork-server`: forks the processes in which runs happen."""

from __future__ import annotations

import os
import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from inference.runs.child import PARENT_VARIABLE
from inference.runs.fork_server import RunForkServer
from inference.runs.lifeline import end_with


class Command(BaseCommand):
    """Serves whoever supervises runs, and ends with that process."""

    help = "Internal: start processes for runs. Workers start this; `work` starts a worker."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        """The inherited descriptor of the socket over which requests come."""
        parser.add_argument("requests", type=int, metavar="DESCRIPTOR")

    def handle(self, *args: Any, **options: Any) -> None:
        """Until the one who started this is gone."""
        if PARENT_VARIABLE not in os.environ:
            raise CommandError("fork-server is started by a worker: use `manage.py work`")
        with socket.socket(fileno=options["requests"]) as requests:
            if end_with(int(os.environ[PARENT_VARIABLE])):
                RunForkServer(requests).serve()
