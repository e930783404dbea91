"""Back-ups of SQLite: copied page by page while the site runs, restored row by row into new tables.

A manipulated dump may contain triggers, views, other constraints or defaults. So its schema is not used, and
SQLite opens it as untrusted.
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
from pmweb.backup.archive import BackupError, BackupManifest, PreservedCredentials
from pmweb.launcher.instance import only_instance
from pmweb.launcher.prepare import create_tables
from pmweb.launcher.supervisor import LaunchError

_LOCK_TIMEOUT = 5.0  # seconds; a program may just be ending
_PAGES_PER_STEP = 4000  # writers can go on between two steps


def dump(target: Path) -> dict[str, int]:
    """Copy a snapshot of the database to a file; returns {table: number of rows}. Raises `BackupError`."""
    source = Path(settings.DATABASES["default"]["NAME"])
    if not source.is_file():
        raise BackupError(f"there is no database {source}")
    archive.require_free_space(target.parent, 2 * source.stat().st_size)
    with closing(sqlite3.connect(source, timeout=30)) as origin, closing(sqlite3.connect(target)) as copy:
        origin.backup(copy, pages=_PAGES_PER_STEP)
        _check_integrity(copy, source)
        tables = copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage")
        names = [name for (name,) in tables if not name.startswith("sqlite_")]
        return archive.row_counts(copy.cursor(), names)


def restore(dumped: Path, manifest: BackupManifest, preserved: PreservedCredentials, *, replace: bool) -> str:
    """Restore a dump as the site's database, after all checks; a replaced database is kept beside it.

    Args:
        dumped: File of `dump`.
        manifest: Manifest of the back-up.
        preserved: Credentials that stay valid.
        replace: Whether to replace an existing database.

    Returns:
        Sentences about the replaced database and ignored objects; "" without any.

    Raises:
        BackupError: The site is running, the database exists, or the dump is damaged.
    """
    place = Path(settings.DATABASES["default"]["NAME"])
    archive.require_free_space(dumped.parent, dumped.stat().st_size)
    new_database = dumped.with_name("fresh.sqlite3")
    columns = _empty_tables(new_database, manifest.migrations)
    with closing(_open_untrusted(dumped)) as source, closing(sqlite3.connect(new_database)) as target:
        ignored = _ignored_objects(source, columns)
        try:
            _check_integrity(source, dumped)
            _copy(source, target, columns)
            rows = archive.row_counts(target.cursor(), columns)
            for statement in preserved.revocation_statements(columns):
                target.execute(statement)
            target.commit()
            _check_integrity(target, new_database)
        except sqlite3.DatabaseError as error:
            raise BackupError(f"the back-up has rows that do not fit: {error}") from error
        archive.check_rows(manifest.rows, rows)
        target.execute("PRAGMA journal_mode=DELETE")  # a single file, without a log
    connection.close()
    try:
        with only_instance(settings.HOME):
            aside = _swap(new_database, place, replace=replace)
    except LaunchError as error:
        raise BackupError(f"{error} Stop the site before you replace its database") from error
    return "; ".join(filter(None, (aside, ignored)))


def _empty_tables(path: Path, migrations: list[str]) -> dict[str, list[str]]:
    """Create a database with the tables of these migrations; returns {table: columns}."""
    alias = "restored"
    connections[alias] = type(connections[DEFAULT_DB_ALIAS])(
        {**connection.settings_dict, "NAME": str(path)}, alias
    )
    try:
        with create_tables(alias, migrations) as columns:
            return columns
    finally:
        connections[alias].close()
        del connections[alias]


def _open_untrusted(path: Path) -> sqlite3.Connection:
    """A read-only connection that calls no function of the file's schema."""
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA cell_size_check=ON")
    return database


def _ignored_objects(source: sqlite3.Connection, columns: Collection[str]) -> str:
    """A sentence about the dump's objects that pmweb does not have, "" without any.

    Raises:
        BackupError: A table is missing.
    """
    try:
        entries = source.execute("SELECT type, name, rootpage FROM sqlite_schema").fetchall()
    except sqlite3.DatabaseError as error:
        raise BackupError(f"the database of the back-up is damaged: {error}") from error
    missing = set(columns) - {name for kind, name, page in entries if kind == "table" and page}
    if missing:
        raise BackupError(f"the back-up has no table {min(missing)}, or another thing of that name")
    tables = {*columns, MigrationRecorder.Migration._meta.db_table}
    unknown = [
        f"{kind} {name}"
        for kind, name, _ in sorted(entries)
        if kind in ("trigger", "view")
        or (kind == "table" and name not in tables and not name.startswith("sqlite_"))
    ]
    return f"left out, since pmweb has none of that name: {', '.join(unknown)}" if unknown else ""


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, columns: dict[str, list[str]]) -> None:
    for table, names in columns.items():
        quoted = ", ".join(f'"{name}"' for name in names)
        places = ", ".join("?" * len(names))
        # SQLite reads an unqualified quoted name that is no column as a string.
        columns_of_source = ", ".join(f'source."{name}"' for name in names)
        rows = source.execute(f'SELECT {columns_of_source} FROM "{table}" AS source')  # noqa: S608  own names
        target.executemany(f'INSERT INTO "{table}" ({quoted}) VALUES ({places})', rows)  # noqa: S608
    # Ids of deleted rows must not be used again.
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
        archive.rename_durably(dumped, place)
        return ""
    if not replace:
        raise BackupError(f"there is a database {place} already: --replace puts the back-up in its place")
    with closing(sqlite3.connect(place)) as old:
        _lock_exclusively(old, place)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = place.with_name(f"{place.name}.before-{moment}")
    place.rename(aside)
    archive.rename_durably(dumped, place)
    return f"the database that was there is kept as {aside}"


def _lock_exclusively(database: sqlite3.Connection, place: Path) -> None:
    """Merge the write-ahead log into the file, which needs exclusive access. Raises `BackupError`."""
    deadline = time.monotonic() + _LOCK_TIMEOUT
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


def _check_integrity(database: sqlite3.Connection, name: Path) -> None:
    """Raises `BackupError` for a damaged database, or one with dangling references."""
    try:
        report = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        row = database.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.DatabaseError as error:
        raise BackupError(f"the database {name} is damaged: {error}") from error
    if report != "ok":
        raise BackupError(f"the database {name} is damaged: {report}")
    if row is not None:
        raise BackupError(f"the database {name} is damaged: a row of {row[0]} points to none of {row[2]}")
