"""The rows in a dump of PostgreSQL as `pg_restore --data-only` writes it out: text that is never executed.

A line is the head of a table's rows, one of its rows, or the last number that a sequence gave out. Everything
else is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from django.db import connection

from pmweb.backup.archive import BackupError

_HEAD = re.compile(rb'COPY (?:\w+\.)?"?(\w+)"? \(("?\w+"?(?:, "?\w+"?)*)\) FROM stdin;\n')
_NUMBER = re.compile(rb"SELECT pg_catalog\.setval\('(?:\w+\.)?\"?(\w+)\"?', (\d{1,19}), (true|false)\);\n")
_END = b"\\.\n"


def copy(cursor: Any, lines: Iterable[bytes], columns: dict[str, list[str]]) -> str:
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
                _skip(rows)
        elif (number := _NUMBER.fullmatch(line)) and number[1].decode() in sequences:
            numbers.append((number[1].decode(), int(number[2]), number[3] == b"true"))
    for values in numbers:
        cursor.execute("SELECT setval(quote_ident(%s)::regclass, %s, %s)", values)
    strange = sorted(ignored - {_MIGRATIONS})
    return f"left out, since pmweb has none of that name: table {', '.join(strange)}" if strange else ""


_MIGRATIONS = "django_migrations"  # which are noted as the tables are made


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


def _skip(rows: Iterator[bytes]) -> None:
    for _ in rows:
        pass


def _sequences(cursor: Any) -> set[str]:
    cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()")
    return {name for (name,) in cursor.fetchall()}
