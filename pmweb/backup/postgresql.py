"""Back-ups of PostgreSQL: dumped by `pg_dump`, restored row by row into new tables.

No statement of a dump is executed. In the output of `pg_restore --data-only`, a line is the head of a table's
rows, a row, or the last number of a sequence; other lines are ignored.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, transaction

from pmweb.backup import archive
from pmweb.backup.archive import BackupError, BackupManifest, PreservedCredentials
from pmweb.launcher.prepare import create_tables, database_name

_EMPTY = """DO $$ DECLARE one record; BEGIN
FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
EXECUTE format('DROP TABLE %I CASCADE', one.tablename); END LOOP; END $$"""


_HEAD = re.compile(rb'COPY (?:\w+\.)?"?(\w+)"? \(("?\w+"?(?:, "?\w+"?)*)\) FROM stdin;\n')
_NUMBER = re.compile(rb"SELECT pg_catalog\.setval\('(?:\w+\.)?\"?(\w+)\"?', (\d{1,19}), (true|false)\);\n")
_END = b"\\.\n"
_MIGRATIONS = "django_migrations"  # filled when the tables are created


def dump(target: Path) -> dict[str, int]:
    """Dump a snapshot of the database to a file; returns {table: number of rows}. Raises `BackupError`.

    Rows are counted in the dumped snapshot, while other processes go on writing.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # as long as the dump takes
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        options = ["--format=custom", "--no-owner", "--no-privileges", "--compress=0"]
        options += [f"--snapshot={snapshot}", f"--file={target}"]
        # Works for all of PostgreSQL's programs, and no secret is an argument, which other users could read.
        (_, *arguments), secrets = connection.client.settings_to_cmd_args_env(
            connection.settings_dict, options
        )
        _run("pg_dump", *arguments, **secrets or {})
        return archive.row_counts(cursor, sorted(connection.introspection.table_names(cursor)))


def restore(dumped: Path, manifest: BackupManifest, preserved: PreservedCredentials, *, replace: bool) -> str:
    """Restore a dump into the configured database, in one transaction.

    A dump may contain any statement, and commands of psql. So `pg_restore` only converts it to text, and its
    rows are copied into new tables with the same columns.

    Args:
        dumped: File of `dump`.
        manifest: Manifest of the back-up.
        preserved: Credentials that stay valid.
        replace: Whether to replace a database that is not empty.

    Returns:
        A sentence about replaced and ignored tables; "" without any.

    Raises:
        BackupError: The database is in use or not empty, or the dump is damaged.
    """
    with connection.cursor() as cursor:
        if connection.introspection.table_names(cursor) and not replace:
            raise BackupError(
                f"the database {database_name()} is not empty: --replace replaces its content by the back-up"
            )
        _require_no_connections(cursor)
    script = dumped.with_name("script.sql")
    _run("pg_restore", "--data-only", "--no-owner", "--no-privileges", f"--file={script}", str(dumped))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_EMPTY)
            with create_tables(DEFAULT_DB_ALIAS, manifest.migrations) as columns, script.open("rb") as lines:
                ignored = copy_rows(cursor, lines, columns)
            archive.check_rows(manifest.rows, archive.row_counts(cursor, columns))
            for statement in preserved.revocation_statements(columns):
                cursor.execute(statement)
    except DatabaseError as error:
        raise BackupError(f"the database rejects rows of the back-up: {error}") from error
    finally:
        connection.close()
    note = "what was there before has been replaced" if replace else ""
    return "; ".join(filter(None, (note, ignored)))


def _require_no_connections(cursor: Any) -> None:
    cursor.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    (number,) = cursor.fetchone()
    if number:
        raise BackupError(
            f"{number} other connections to {database_name()} are open: stop web processes and workers first"
        )


def _run(program: str, *arguments: str, **environment: str) -> None:
    """Run a program of PostgreSQL; raises `BackupError` with its error output."""
    path = shutil.which(program)
    if path is None:
        raise BackupError(f"{program} is not installed: apt install postgresql-client")
    completed = subprocess.run(  # noqa: S603  PostgreSQL's own program
        [path, *arguments],
        env={**os.environ, **environment, "PGOPTIONS": "-c client_min_messages=warning"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        raise BackupError(f"{program} failed: {completed.stderr.strip() or f'status {completed.returncode}'}")


def copy_rows(cursor: Any, lines: Iterable[bytes], columns: dict[str, list[str]]) -> str:
    """Copy rows into these tables; returns a sentence about rows of other tables, "" without any.

    Raises:
        BackupError: A table of the dump has other columns.
    """
    sequences = _sequences(cursor)
    source, ignored, numbers = iter(lines), set(), []
    for line in source:
        if head := _HEAD.fullmatch(line):
            table, names = head[1].decode(), [name.strip('"') for name in head[2].decode().split(", ")]
            rows = takewhile(_END.__ne__, source)
            if table in columns:
                _copy_rows(cursor, table, names, columns[table], rows)
            else:
                ignored.add(table)
                deque(rows, maxlen=0)
        elif (number := _NUMBER.fullmatch(line)) and number[1].decode() in sequences:
            numbers.append((number[1].decode(), int(number[2]), number[3] == b"true"))
    for values in numbers:
        cursor.execute("SELECT setval(quote_ident(%s)::regclass, %s, %s)", values)
    unknown = sorted(ignored - {_MIGRATIONS})
    return f"left out, since pmweb has none of that name: table {', '.join(unknown)}" if unknown else ""


def _copy_rows(cursor: Any, table: str, names: list[str], expected: list[str], rows: Iterator[bytes]) -> None:
    if set(names) != set(expected) or len(names) != len(expected):
        raise BackupError(
            f"the table {table} of the back-up has the columns {', '.join(names)}, not {', '.join(expected)}"
        )
    quote = connection.ops.quote_name
    into = f"COPY {quote(table)} ({', '.join(map(quote, names))}) FROM STDIN"
    with cursor.copy(into) as target:
        for row in rows:
            target.write(row)


def _sequences(cursor: Any) -> set[str]:
    cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()")
    return {name for (name,) in cursor.fetchall()}
