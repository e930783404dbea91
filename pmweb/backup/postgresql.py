"""PostgreSQL: dumped by its own program, and put back row by row into tables made anew.

Of a dump as `pg_restore --data-only` writes it out nothing is executed. A line is the head of a table's rows,
one of its rows, or the last number that a sequence gave out. Everything else is left out.
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
from pmweb.backup.archive import BackupError, BackupManifest, KeptWays
from pmweb.launcher.prepare import database_name, tables_made

_EMPTY = """DO $$ DECLARE one record; BEGIN
FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
EXECUTE format('DROP TABLE %I CASCADE', one.tablename); END LOOP; END $$"""


_HEAD = re.compile(rb'COPY (?:\w+\.)?"?(\w+)"? \(("?\w+"?(?:, "?\w+"?)*)\) FROM stdin;\n')
_NUMBER = re.compile(rb"SELECT pg_catalog\.setval\('(?:\w+\.)?\"?(\w+)\"?', (\d{1,19}), (true|false)\);\n")
_END = b"\\.\n"
_MIGRATIONS = "django_migrations"  # which are noted as the tables are made


def dump(target: Path) -> dict[str, int]:
    """Write the database of one moment to a file; {table: rows}. Raises `BackupError`.

    Rows are counted in the very snapshot that is dumped, while others go on writing.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # as long as the dump takes
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        options = ["--format=custom", "--no-owner", "--no-privileges", "--compress=0"]
        options += [f"--snapshot={snapshot}", f"--file={target}"]
        # Which is of use to all of PostgreSQL's programs; no secret is an argument, which others could read.
        (_, *arguments), secrets = connection.client.settings_to_cmd_args_env(
            connection.settings_dict, options
        )
        _call("pg_dump", *arguments, **secrets or {})
        return archive.row_counts(cursor, sorted(connection.introspection.table_names(cursor)))


def restore(dumped: Path, manifest: BackupManifest, kept: KeptWays, *, replace: bool) -> str:
    """Put the rows of a dump into the configured database, all of them or nothing; what else became of it.

    A dump can have any statement in it, and psql's own commands. So `pg_restore` writes it out as text, of
    which nothing is executed: rows go as rows into tables made anew, where those have such columns. Of the
    dump's ways in those let somebody in that are `kept`. Raises `BackupError`.
    """
    with connection.cursor() as cursor:
        if connection.introspection.table_names(cursor) and not replace:
            raise BackupError(
                f"the database {database_name()} is not empty: --replace puts the back-up in place of "
                "what it has"
            )
        _check_alone(cursor)
    script = dumped.with_name("script.sql")
    _call("pg_restore", "--data-only", "--no-owner", "--no-privileges", f"--file={script}", str(dumped))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_EMPTY)
            with tables_made(DEFAULT_DB_ALIAS, manifest.migrations) as columns, script.open("rb") as lines:
                ignored = copy_rows(cursor, lines, columns)
            archive.check_rows(manifest.rows, archive.row_counts(cursor, columns))
            for statement in kept.ending(columns):
                cursor.execute(statement)
    except DatabaseError as error:
        raise BackupError(f"the database does not take what the back-up has: {error}") from error
    finally:
        connection.close()
    note = "what was there before has been replaced" if replace else ""
    return "; ".join(filter(None, (note, ignored)))


def _check_alone(cursor: Any) -> None:
    cursor.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    (others,) = cursor.fetchone()
    if others:
        raise BackupError(
            f"{others} other connections to {database_name()} are open: stop web processes and workers first"
        )


def _call(program: str, *arguments: str, **environment: str) -> None:
    """Run a program of PostgreSQL; raises `BackupError` with what it complains of."""
    path = shutil.which(program)
    if path is None:
        raise BackupError(f"{program} is not installed: apt install postgresql-client")
    done = subprocess.run(  # noqa: S603  PostgreSQL's own program
        [path, *arguments],
        env={**os.environ, **environment, "PGOPTIONS": "-c client_min_messages=warning"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupError(f"{program} failed: {done.stderr.strip() or f'status {done.returncode}'}")


def copy_rows(cursor: Any, lines: Iterable[bytes], columns: dict[str, list[str]]) -> str:
    """Put the rows into these tables, and say of which others there are some. Raises `BackupError`."""
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
    strange = sorted(ignored - {_MIGRATIONS})
    return f"left out, since pmweb has none of that name: table {', '.join(strange)}" if strange else ""


def _copy_rows(cursor: Any, table: str, names: list[str], own: list[str], rows: Iterator[bytes]) -> None:
    if set(names) != set(own) or len(names) != len(own):
        raise BackupError(
            f"the table {table} of the back-up has the columns {', '.join(names)}, not {', '.join(own)}"
        )
    quote = connection.ops.quote_name
    into = f"COPY {quote(table)} ({', '.join(map(quote, names))}) FROM STDIN"
    with cursor.copy(into) as target:
        for row in rows:
            target.write(row)


def _sequences(cursor: Any) -> set[str]:
    cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()")
    return {name for (name,) in cursor.fetchall()}
