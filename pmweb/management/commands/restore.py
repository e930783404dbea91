"""`manage.py restore`: a back-up back in its place."""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from inference.management.data_command import DataCommand
from pmweb.backup import archive, postgresql, sqlite
from pmweb.backup.errors import BackupError


class Command(DataCommand):
    """Restore; see the module."""

    help = "Put a back-up in place of the database. The site must not run meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what is restored."""
        parser.add_argument("file", type=Path, metavar="FILE", help="made by `manage.py backup`")
        parser.add_argument("--replace", action="store_true", help="in place of a database that has data")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check everything, then put it in place."""
        path: Path = options["file"]
        try:
            manifest = archive.read_manifest(path)
            if manifest.database != connection.vendor:
                raise BackupError(
                    f"{path} is of a {manifest.database} database, and the configured one is "
                    f"{connection.vendor}"
                )
            settings.HOME.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.HOME) as folder:
                dump = Path(folder) / "database"
                secret = archive.unpack(path, manifest, dump)
                kind = sqlite if connection.vendor == "sqlite" else postgresql
                note = kind.restore(dump, manifest.rows, replace=options["replace"])
            if secret is not None:
                _put_secret(settings.HOME / "secret-key", secret, replace=options["replace"])
        except (BackupError, OSError) as error:
            raise CommandError(f"{error}.") from error
        rows = sum(manifest.rows.values())
        self.stdout.write(
            f"{rows:,} rows are back, as they were at {manifest.created}" + (f"; {note}" if note else "")
        )


def _put_secret(place: Path, secret: bytes, *, replace: bool) -> None:
    """The key that signed the sessions in the back-up; one that is there stays, unless all is replaced."""
    if place.exists() and not replace:
        return
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(secret)
    draft.rename(place)
