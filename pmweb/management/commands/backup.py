"""`manage.py backup`: a snapshot of the database in one file, while the site runs."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from inference.web.data_command import DataCommand
from pmweb.backup import archive, postgresql, sqlite
from pmweb.backup.archive import BackupError


class Command(DataCommand):
    help = "Write a back-up of everything to one file. The site may run meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a new file")
        parser.add_argument(
            "--directory", type=Path, metavar="DIR", help="instead of FILE: write a file named after the time"
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="delete all but the newest N back-ups in the directory"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Dump, pack, and delete old back-ups."""
        try:
            target = _target(options["file"], options["directory"], options["keep"])
            with tempfile.TemporaryDirectory(prefix=".backup-", dir=target.parent) as folder:
                dump = Path(folder) / "database"
                rows = (sqlite if connection.vendor == "sqlite" else postgresql).dump(dump)
                archive.write(target, dump, rows, settings.HOME / "secret-key")
        except (BackupError, OSError) as error:
            raise CommandError(f"{error}.") from error
        size = target.stat().st_size / 2**20
        self.stdout.write(f"{target}: {sum(rows.values()):,} rows of {len(rows)} tables, {size:.1f} MiB")
        if options["keep"]:
            for path in archive.delete_old_backups(target.parent, options["keep"]):
                self.stdout.write(f"removed {path}")


def _target(file: Path | None, directory: Path | None, keep: int | None) -> Path:
    if (file is None) == (directory is None):
        raise BackupError("name the target of the back-up: FILE, or --directory DIR")
    if keep is not None and (directory is None or keep < 1):
        raise BackupError("--keep N goes with --directory, and N is at least 1")
    if directory is not None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory / f"{datetime.now(UTC).strftime('%Y-%m-%dT%H-%M-%SZ')}{archive.SUFFIX}"
    assert file is not None
    if file.exists():
        raise BackupError(f"{file} exists already, and a back-up overwrites no file")
    return file.resolve()
