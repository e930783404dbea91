"""SQLite: copied page by page while the site goes on; put back row by row into tables made anew.

Whoever has changed a dump can have put triggers, views, other constraints or defaults into it. So nothing of
its schema is taken over, and SQLite is told not to trust it while its rows are read.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.migrations.recorder import MigrationRecorder

from pmweb.backup import archive
from pmweb.backup.archive import BackupError, BackupManifest, KeptWays
from pmweb.launcher.instance import only_instance
from pmweb.launcher.prepare import tables_made
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
        _check_sound(copy, source)
        tables = copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage")
        names = [name for (name,) in tables if not name.startswith("sqlite_")]
        return archive.row_counts(copy.cursor(), names)


def restore(dumped: Path, manifest: BackupManifest, kept: KeptWays, *, replace: bool) -> str:
    """Put the rows of a dump where the database belongs, and say what else became of it.

    Nothing changes unless the dump is sound. What was there before is kept beside it. Of the dump's ways in
    those let somebody in that are `kept`. Raises `BackupError`.
    """
    place = Path(settings.DATABASES["default"]["NAME"])
    archive.room_for(dumped.parent, dumped.stat().st_size)
    fresh = dumped.with_name("fresh.sqlite3")
    columns = _empty_tables(fresh, manifest.migrations)
    with closing(_distrusted(dumped)) as source, closing(sqlite3.connect(fresh)) as target:
        ignored = _ignored(source, columns)
        try:
            _check_sound(source, dumped)
            _copy(source, target, columns)
            rows = archive.row_counts(target.cursor(), columns)
            for statement in kept.ending(columns):
                target.execute(statement)
            target.commit()
            _check_sound(target, fresh)
        except sqlite3.DatabaseError as error:
            raise BackupError(f"the back-up has rows that do not fit: {error}") from error
        archive.check_rows(manifest.rows, rows)
        target.execute("PRAGMA journal_mode=DELETE")  # a single file, with nothing beside it
    connection.close()
    try:
        with only_instance(settings.HOME):
            aside = _swap(fresh, place, replace=replace)
    except LaunchError as error:
        raise BackupError(f"{error} A database cannot be replaced while a site works with it") from error
    return "; ".join(filter(None, (aside, ignored)))


def _empty_tables(path: Path, migrations: list[str]) -> dict[str, list[str]]:
    """Make a database with the tables of these migrations; the columns of each."""
    alias = "restored"
    connections[alias] = type(connections[DEFAULT_DB_ALIAS])(
        {**connection.settings_dict, "NAME": str(path)}, alias
    )
    try:
        with tables_made(alias, migrations) as columns:
            return columns
    finally:
        connections[alias].close()
        del connections[alias]


def _distrusted(path: Path) -> sqlite3.Connection:
    """A connection that reads, and calls nothing for what the file's schema says."""
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA cell_size_check=ON")
    return database


def _ignored(source: sqlite3.Connection, columns: Collection[str]) -> str:
    """What a dump has that no database of pmweb has. Raises `BackupError` where a table is missing."""
    try:
        entries = source.execute("SELECT type, name, rootpage FROM sqlite_schema").fetchall()
    except sqlite3.DatabaseError as error:
        raise BackupError(f"the database of the back-up is damaged: {error}") from error
    missing = set(columns) - {name for kind, name, page in entries if kind == "table" and page}
    if missing:
        raise BackupError(f"the back-up has no table {min(missing)}, or another thing of that name")
    own = {*columns, MigrationRecorder.Migration._meta.db_table}
    strange = [
        f"{kind} {name}"
        for kind, name, _ in sorted(entries)
        if kind in ("trigger", "view")
        or (kind == "table" and name not in own and not name.startswith("sqlite_"))
    ]
    return f"left out, since pmweb has none of that name: {', '.join(strange)}" if strange else ""


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, columns: dict[str, list[str]]) -> None:
    for table, names in columns.items():
        quoted = ", ".join(f'"{name}"' for name in names)
        places = ", ".join("?" * len(names))
        # A lone name in quotation marks that is no column would be a text to SQLite.
        columns_of_source = ", ".join(f'source."{name}"' for name in names)
        rows = source.execute(f'SELECT {columns_of_source} FROM "{table}" AS source')  # noqa: S608  own names
        target.executemany(f'INSERT INTO "{table}" ({quoted}) VALUES ({places})', rows)  # noqa: S608
    # No number is given out a second time, also of rows that are gone.
    target.execute("DELETE FROM sqlite_sequence")
    target.executemany(
        "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
        (
            (name, last)
            for name, last in source.execute("SELECT name, seq FROM sqlite_sequence")
            if name in columns
        ),
    )


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


def _check_sound(database: sqlite3.Connection, name: Path) -> None:
    """Raises `BackupError` for what is no sound database."""
    try:
        said = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        lost = database.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.DatabaseError as error:
        raise BackupError(f"the database {name} is damaged: {error}") from error
    if said != "ok":
        raise BackupError(f"the database {name} is damaged: {said}")
    if lost is not None:
        raise BackupError(f"the database {name} is damaged: a row of {lost[0]} points to none of {lost[2]}")
