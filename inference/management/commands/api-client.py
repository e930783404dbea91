"""`manage.py api-client`: the client of the HTTP API in Python."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from inference.web.api.client import CLIENT_NAME, client_text
from inference.web.api.site import document
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "Write a typed client of the HTTP API in Python: one file that needs nothing else."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--output",
            type=Path,
            metavar="FILE",
            help=f"write here, such as {CLIENT_NAME}, not to the output",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.write_output(client_text(document()), options["output"])
