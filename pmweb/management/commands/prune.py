"""`manage.py prune`: remove old data, or report what would be removed."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from inference.runs.child import PARENT_VARIABLE, bind_to_parent
from inference.web.data_command import DataCommand
from pmweb.models import Pruning
from pmweb.retention import BY_KEY, FOREVER, claim, prune


class Command(DataCommand):
    """The site may run meanwhile."""

    help = "Remove old data that no result depends on (docs/operating.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only report what would be removed")
        parser.add_argument(
            "--keep",
            action="append",
            type=_trace_and_number,
            default=[],
            metavar="TRACE=N",
            help=f"overrides the settings; 0: forever. Traces: {', '.join(BY_KEY)}",
        )
        parser.add_argument("--vacuum", action="store_true", help="return SQLite's free pages to the disk")
        parser.add_argument("--asked", action="store_true", help="carry out pending requests of the page")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["asked"]:
            if PARENT_VARIABLE in os.environ:
                bind_to_parent()
            while (row := claim()) is not None:
                self._tell(prune(row))
            return
        row = Pruning.objects.create(dry=options["dry_run"], started=timezone.now())
        keep = dict(options["keep"])
        self._tell(prune(row, keep))
        for key, days in {**settings.KEEP, **keep}.items():
            if days == FOREVER:
                self.stdout.write(f"{BY_KEY[key].title}: kept for ever")
        if options["vacuum"] and not row.dry and connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("VACUUM")

    def _tell(self, row: Pruning) -> None:
        verb = "would go" if row.dry else "removed"
        for line in row.report:
            retention = f"{line['keep']:,} {line['unit']} kept"
            amount = f"{line['rows']:,} rows, {_mebibytes(line['size'])}"
            self.stdout.write(f"{line['title']}: {amount} {verb} ({retention})")
        self.stdout.write(f"Together: {row.rows:,} rows, {_mebibytes(row.size)} {verb}.")


def _trace_and_number(text: str) -> tuple[str, int]:
    key, _, number = text.partition("=")
    if key not in BY_KEY or not number.isdecimal():
        raise ArgumentTypeError(f"{text!r}: TRACE=N is expected, TRACE one of {', '.join(BY_KEY)}")
    return key, int(number)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
