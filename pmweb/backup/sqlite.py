"""SQLite: copied page by page while the site goes on, put back as a file."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connection

from pmweb.backup import archive, ways_in
from pmweb.backup.archive import BackupError
from pmweb.launcher.instance import only_instance
from pmweb.launcher.supervisor import LaunchError

_PATIENCE = 5.0  # seconds for a program that is just ending
_PAGES_AT_A_TIME = 4000  # between which writers get their turn


def dump(target: Path) -> dict[str, int]:
    """Write the database of one moment to a file; {table: rows}. Raises `BackupError`."""
    source = Path(settings.DATABASES["default"]["NAME"])
    if not source.is_file():
        raise BackupError(f"there is no database {source}")
    archive.room_for(target.parent, 2 * source.stat().st_size)
    with closing(sqlite3.connect(source, timeout=30)) as origin, closing(sqlite3.connect(target)) as copy:
        origin.backup(copy, pages=_PAGES_AT_A_TIME)
        return _checked(copy, source)


def restore(dumped: Path, expected: dict[str, int], *, replace: bool, keep_tokens: bool) -> str:
    """Put a dump where the database belongs; what became of the one before, in words. Raises `BackupError`.

    Nothing changes unless the dump is sound. What was there before is kept beside it. Nobody gets in by what
    the dump has of ways in (`ways_in`): they end before it is put there.
    """
    place = Path(settings.DATABASES["default"]["NAME"])
    with closing(sqlite3.connect(dumped)) as copy:
        archive.check_rows(expected, _checked(copy, dumped))
        copy.execute("PRAGMA journal_mode=DELETE")  # a single file, with nothing beside it
        for statement in ways_in.ending(expected, keep_tokens=keep_tokens):
            copy.execute(statement)
        copy.commit()
    connection.close()
    try:
        with only_instance(settings.HOME):
            return _swap(dumped, place, replace=replace)
    except LaunchError as error:
        raise BackupError(f"{error} A database cannot be replaced while a site works with it") from error


def _swap(dumped: Path, place: Path, *, replace: bool) -> str:
    if not place.exists():
        archive.put_in_place(dumped, place)
        return ""
    if not replace:
        raise BackupError(f"there is a database {place} already: --replace puts the back-up in its place")
    with closing(sqlite3.connect(place)) as old:
        _take_alone(old, place)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = place.with_name(f"{place.name}.before-{moment}")
    place.rename(aside)
    archive.put_in_place(dumped, place)
    return f"the database that was there is kept as {aside}"


def _take_alone(database: sqlite3.Connection, place: Path) -> None:
    """Bring in what is still in the log beside the file, which nobody can who is not alone with it."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            database.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError as error:
            if time.monotonic() > deadline:
                raise BackupError(
                    f"another program has {place} open ({error}): close it, `fuser -v {place}` names it"
                ) from error
            time.sleep(0.1)
        else:
            return


def _checked(database: sqlite3.Connection, name: Path) -> dict[str, int]:
    """{table: rows}. Raises `BackupError` for what is no sound database."""
    try:
        return _counted(database, name)
    except sqlite3.DatabaseError as error:
        raise BackupError(f"the database {name} is damaged: {error}") from error


def _counted(database: sqlite3.Connection, name: Path) -> dict[str, int]:
    said = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if said != "ok":
        raise BackupError(f"the database {name} is damaged: {said}")
    tables = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return {
        table: database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]  # noqa: S608  a table's name
        for (table,) in tables.fetchall()
    }
