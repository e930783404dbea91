"""`manage.py diagnose`: write the bundle for a bug report, without secrets."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pmweb.diagnosis import PARTS, bundle


class Command(BaseCommand):
    """Works also if the database does not answer."""

    help = "Write versions, settings without secrets, and the state of database, runs and machines to a zip."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a new zip file")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with path.open("xb") as file:
                file.write(bundle())
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        self.stdout.write(f"{path}: {', '.join(PARTS)}. Look through it before you send it.")
