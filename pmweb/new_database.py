"""The tables of an empty database, made at once as the migrations leave them.

One migration after the other would make and remake them a hundred times, which takes most of a first start.
"""

from __future__ import annotations

from django.db import connections
from django.db.migrations.executor import MigrationExecutor


def is_empty(alias: str) -> bool:
    """Whether the database has no table yet."""
    return not connections[alias].introspection.table_names()


def create_all(alias: str) -> None:
    """Make all tables in an empty database and note every migration as applied, all or nothing.

    What migrations do with rows is left out: there are none.
    """
    connection = connections[alias]
    executor = MigrationExecutor(connection)
    loader = executor.loader
    plan = executor.migration_plan(loader.graph.leaf_nodes())
    with connection.schema_editor(atomic=True) as editor:
        for model in loader.project_state().apps.get_models():
            if model._meta.can_migrate(connection):  # neither a proxy nor one without a table of its own
                editor.create_model(model)
        executor.recorder.ensure_schema()
        for migration, _ in plan:
            executor.recorder.record_applied(migration.app_label, migration.name)
