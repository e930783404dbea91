"""Many rows of one table at once, in plain SQL that all databases here speak.

A model instance per row costs several times what the database needs to store it: an import of 100,000
measurements has half a million rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.db import connection, models

PORTION = 5000
"""Rows handed over at once: what is in memory beside the caller's own."""


def insert_missing(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows, values in the order of the columns; those that a constraint says are there already stay.

    Values are what the driver takes: JSON as text. Nothing is checked but by the database.
    """
    name = connection.ops.quote_name
    listed = ", ".join(name(column) for column in columns)
    marks = ", ".join(["%s"] * len(columns))
    statement = (
        f"INSERT INTO {name(model._meta.db_table)} ({listed}) VALUES ({marks}) "  # noqa: S608 names of our tables
        "ON CONFLICT DO NOTHING"
    )
    remaining = iter(rows)
    with connection.cursor() as cursor:
        while portion := list(islice(remaining, PORTION)):
            cursor.executemany(statement, portion)
