"""`manage.py reading-server`: forks processes that parse files for pages and API."""

from __future__ import annotations

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from inference.web.code_reading import load_reader
from inference.web.reading_process import serve


class Command(BaseCommand):
    """Serves the web process that started it, and ends with that process."""

    help = "Internal: start processes that parse files. Started by the web process."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("requests", type=int, metavar="DESCRIPTOR")

    def handle(self, *args: Any, **options: Any) -> None:
        with socket.socket(fileno=options["requests"]) as requests:
            load_reader()  # each process that is forked begins with its tables
            serve(requests)
