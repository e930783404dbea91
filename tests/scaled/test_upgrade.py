"""A database of an older release on PostgreSQL: migrated, shown, and worked on.

Its tables are made by the migrations of then, and its rows are those of the dump of SQLite.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from tests.scaled.conftest import opened_on
from tests.servers import PostgreSQL
from tests.upgrade.going_on import check_that_it_goes_on
from tests.upgrade.make import COMMITS, restore
from tests.upgrade.tables import tables

OLD = "old"


def test_an_older_site_is_migrated_shown_and_goes_on(
    postgresql: PostgreSQL,
    migrated_database: str,
    tmp_path: Path,
    tmp_path_factory,
    django_db_blocker,
    client: Client,
) -> None:
    with postgresql.connect(migrated_database) as new:
        made_at_once = tables(new.cursor(), postgresql=True)
    old = tmp_path_factory.mktemp("old") / "old.sqlite3"
    restore(max(COMMITS), old)
    with opened_on(postgresql, postgresql.copy(), tmp_path, django_db_blocker):
        models = tables_of_then(old)
        with pytest.MonkeyPatch.context() as patch:
            facts = {**connections.settings["default"], "ENGINE": "django.db.backends.sqlite3"}
            patch.setitem(connections.settings, OLD, {**facts, "NAME": old, "OPTIONS": {}, "CONN_MAX_AGE": 0})
            move(models)
            connections[OLD].close()
            del connections[OLD]
        call_command("migrate", verbosity=0, skip_checks=True)
        with connection.cursor() as migrated:
            assert tables(migrated, postgresql=True) == made_at_once
        check_that_it_goes_on(client)


def tables_of_then(old: Path) -> Sequence[Any]:
    """Make them; the models that they had."""
    with closing(sqlite3.connect(old)) as rows:
        applied = set(rows.execute("SELECT app, name FROM django_migrations"))
    executor = MigrationExecutor(connection)
    graph = executor.loader.graph
    last = [
        node
        for node in applied
        if node in graph.nodes
        and not applied & {child.key for child in graph.node_map[node].children if child.key[0] == node[0]}
    ]
    executor.migrate(last)
    return executor.loader.project_state(last).apps.get_models(include_auto_created=True)


def move(models: Sequence[Any]) -> None:
    """Every row as it is; foreign keys are looked at when all are there."""
    with transaction.atomic():
        for model in models:
            model._base_manager.all().delete()
        for model in models:
            model._base_manager.bulk_create(model._base_manager.using(OLD).all())
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
