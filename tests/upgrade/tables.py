"""What the tables of a database are, to compare databases that came about in different ways."""

from __future__ import annotations

from typing import Any

_OF_POSTGRESQL = (
    "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default, "
    "is_identity FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = 'public'::regnamespace",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
)


def tables(cursor: Any, *, postgresql: bool = False) -> set[str]:
    """Each column, constraint and index of each table, in the words of the database, in no order."""
    if postgresql:
        found = set()
        for query in _OF_POSTGRESQL:
            cursor.execute(query)
            found |= {str(row) for row in cursor.fetchall()}
        return found
    cursor.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    return {f"{name}: {part}" for kind, name, sql in cursor.fetchall() for part in _parts(kind, sql)}


def _parts(kind: str, sql: str) -> list[str]:
    """What stands between the commas of a table's outermost brackets; an index is one part."""
    if kind != "table":
        return [sql]
    parts, depth = [""], 0
    for sign in sql.partition("(")[2].rpartition(")")[0]:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


_OWN_OF_DJANGO = ("django_migrations", "django_content_type", "auth_permission")
"""Tables to which migrating itself adds rows."""


def row_counts(cursor: Any) -> dict[str, int]:
    """The number of rows of each table of an SQLite database, but for those that `migrate` itself fills."""
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    names = sorted({name for (name,) in cursor.fetchall()} - set(_OWN_OF_DJANGO))
    return {name: cursor.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}
