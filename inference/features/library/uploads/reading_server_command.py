"""`manage.py reading-server`: forks the processes that read files for pages and API."""

from __future__ import annotations

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from inference.web.reading_process import serve


class Command(BaseCommand):
    """Serves the web process that has started it, and ends with that one."""

    help = "Internal: start processes that read files. The web process starts this."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        """The inherited descriptor of the socket over which requests come."""
        parser.add_argument("requests", type=int, metavar="DESCRIPTOR")

    def handle(self, *args: Any, **options: Any) -> None:
        """Until the one who started this is gone."""
        with socket.socket(fileno=options["requests"]) as requests:
            serve(requests)
