"""The tables of an empty database, made at once as the migrations leave them.

One migration after the other would make and remake them a hundred times, which takes most of a first start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import connections
from django.db.migrations.executor import MigrationExecutor


def is_empty(alias: str) -> bool:
    """Whether the database has no table yet."""
    return not connections[alias].introspection.table_names()


def create_all(alias: str) -> None:
    """Make all tables in an empty database and note every migration as applied, all or nothing."""
    with tables_made(alias):
        pass


@contextmanager
def tables_made(alias: str, migrations: Collection[str] | None = None) -> Iterator[dict[str, list[str]]]:
    """Make the tables of an empty database as migrations leave them, and note those as applied.

    What migrations do with rows is left out: there are none. Rows can be put in inside the context: at its
    end the constraints between tables, and indexes, are made where the database can wait for them. All or
    nothing.

    Args:
        alias: of the database.
        migrations: "app.name" of each, those that nobody knows among them; None for all there are.

    Yields:
        The columns of each table but `django_migrations`.
    """
    connection = connections[alias]
    executor = MigrationExecutor(connection)
    loader = executor.loader
    nodes = [
        node for node in loader.graph.nodes if migrations is None or ".".join(node) in migrations
    ] or loader.graph.leaf_nodes()
    plan = executor.migration_plan(nodes)
    apps = loader.project_state(nodes).apps
    # Within a transaction that is open it has none of its own, which Django would not end where its last
    # statements fail.
    with connection.schema_editor(atomic=not connection.in_atomic_block) as editor:
        for model in apps.get_models():
            if model._meta.can_migrate(connection):  # neither a proxy nor one without a table of its own
                editor.create_model(model)
        executor.recorder.ensure_schema()
        for migration, _ in plan:
            executor.recorder.record_applied(migration.app_label, migration.name)
        yield {
            model._meta.db_table: [str(field.column) for field in model._meta.local_concrete_fields]
            for model in apps.get_models(include_auto_created=True)
            if model._meta.can_migrate(connection)
        }
