"""`manage.py restore`: restore a back-up."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from inference.runs.data_directory import make_contents_private
from inference.runs.errors import NotPrivateError
from inference.web.data_command import DataCommand
from pmweb.backup import archive, postgresql, sqlite
from pmweb.backup.archive import BackupError, PreservedCredentials


class Command(DataCommand):
    help = "Restore the database from a back-up. The site must not run meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file of `manage.py backup`")
        parser.add_argument("--replace", action="store_true", help="replace a database that has data")
        parser.add_argument(
            "--keep-tokens",
            action="store_true",
            help="do not revoke the tokens of programs and agents that are valid in the back-up",
        )
        parser.add_argument(
            "--keep-passwords",
            action="store_true",
            help="keep the passwords in the file valid: only if nobody else can have changed it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify the back-up, then restore it."""
        path: Path = options["file"]
        preserved = PreservedCredentials(tokens=options["keep_tokens"], passwords=options["keep_passwords"])
        try:
            manifest = archive.read_manifest(path)
            if manifest.database != connection.vendor:
                raise BackupError(
                    f"{path} is of a {manifest.database} database, and the configured one is "
                    f"{connection.vendor}"
                )
            make_contents_private(settings.HOME)
            with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.HOME) as folder:
                dump = Path(folder) / "database"
                secret = archive.unpack(path, manifest, dump)
                kind = sqlite if connection.vendor == "sqlite" else postgresql
                note = kind.restore(dump, manifest, preserved, replace=options["replace"])
            if secret is not None:
                _restore_secret(settings.HOME / "secret-key", secret, replace=options["replace"])
        except (BackupError, NotPrivateError, OSError) as error:
            raise CommandError(f"{error}.") from error
        rows = sum(manifest.rows.values())
        self.stdout.write(
            f"{rows:,} rows are back, as they were at {manifest.created}" + (f"; {note}" if note else "")
        )
        self.stdout.write(f"{preserved.summary()}.")


def _restore_secret(place: Path, secret: bytes, *, replace: bool) -> None:
    """Write the secret key of the back-up; an existing key stays without `replace`."""
    if place.exists() and not replace:
        return
    with archive.new_file(place) as file:
        file.write(secret)
