"""Whether the tables of the database are those that this program works with."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

OWN = frozenset(("pmweb", "inference", "anica_app"))


@dataclass(frozen=True)
class Schema:
    """`lacks`: migrations are to be applied. `unknown`: those that a newer program has applied."""

    lacks: bool
    unknown: tuple[str, ...]


def schema() -> Schema:
    """Compare the database with the migrations of this program. Raises `OperationalError`."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    unknown = (
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in OWN and (app, name) not in loader.disk_migrations
    )
    return Schema(bool(executor.migration_plan(loader.graph.leaf_nodes())), tuple(sorted(unknown)))
