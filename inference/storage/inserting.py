"""Many rows of one table at once, in plain SQL that all databases here speak.

A model instance per row costs several times what the database needs to store it: an import of 100,000
measurements has half a million rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models

PORTION = 5000
"""Rows handed over at once: what is in memory beside the caller's own."""


Row = TypeVar("Row")


def portions(rows: Iterable[Row], size: int = PORTION) -> Iterator[list[Row]]:
    """The rows in lists of that size; the last one may be shorter, and none is empty."""
    remaining = iter(rows)
    while portion := list(islice(remaining, size)):
        yield portion


def insert_missing(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows; those that a constraint says are there already stay."""
    insert_rows(model, columns, rows, "ON CONFLICT DO NOTHING")


def insert_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]], ending: str = ""
) -> None:
    """Insert rows, values in the order of the columns; `ending` is the end of the statement.

    Values are what the driver takes: JSON as text. Nothing is checked but by the database.
    """
    name = connection.ops.quote_name
    listed = ", ".join(name(column) for column in columns)
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {name(model._meta.db_table)} ({listed}) VALUES ({marks}) {ending}"  # noqa: S608 names of our tables
    with connection.cursor() as cursor:
        for portion in portions(rows):
            cursor.executemany(statement, portion)
