"""Compares the migrations that the database has with those of this program."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

OWN_APPS = frozenset(("pmweb", "inference", "anica_app"))


@dataclass(frozen=True)
class Schema:
    needs_migration: bool
    unknown: tuple[str, ...]
    """Migrations that a newer program has applied, as "app.name"."""


def schema() -> Schema:
    """Compare the database with the migrations of this program. Raises `OperationalError`."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    unknown = (
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in OWN_APPS and (app, name) not in loader.disk_migrations
    )
    return Schema(bool(executor.migration_plan(loader.graph.leaf_nodes())), tuple(sorted(unknown)))
