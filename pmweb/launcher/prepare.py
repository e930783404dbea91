"""Preparation of the data directory before a start: database, instruction sets, administrator, static files.

Every step is skipped if nothing has changed since the last start. In an empty database the final tables are
created directly: a hundred migrations one after another would take most of the first start.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from inference.isa.targets import FOLDERS
from inference.models.schema import schema
from inference.runs.data_directory import make_contents_private
from inference.runs.errors import NotPrivateError
from pmweb import __version__
from pmweb.accounts.people import ensure_administrator
from pmweb.launcher.supervisor import LaunchError

log = logging.getLogger(__name__)


def prepare() -> None:
    """Bring the data directory up to date. Raises `LaunchError` with what to do."""
    try:
        make_contents_private(settings.HOME)
        _ = settings.SECRET_KEY  # generated now, so that an error appears here and not on the first page
        with exclusive_preparation():
            migrate_database()
            call_command("load-isa", *FOLDERS, stdout=io.StringIO())
            ensure_administrator()
    except (ImproperlyConfigured, NotPrivateError) as error:
        raise LaunchError(f"{error}.") from error
    except OperationalError as error:
        raise LaunchError(_database_error_text(error)) from error
    except DatabaseError as error:
        raise LaunchError(
            f"{database_name()} is not a database of pmweb ({error}). "
            "Move it away, or let PMWEB_HOME or PMWEB_DATABASE_URL name another one."
        ) from error
    collect_static_files()
    connection.close()  # the supervisor itself holds no connection while it runs


@contextmanager
def exclusive_preparation() -> Iterator[None]:
    """Lock the preparation of a database that several computers share."""
    if connection.vendor != "postgresql":
        yield  # one data directory, one site (`instance`)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext('pmweb is prepared'))")
    try:
        yield
    finally:
        connection.close()  # releases the lock in any state of the connection


def migrate_database() -> None:
    """Apply missing migrations. Raises `LaunchError` for a database of a newer version."""
    state = schema()
    if state.unknown:
        raise LaunchError(
            f"the database {database_name()} is of a newer version of pmweb (this is {__version__}; "
            f"unknown here: {', '.join(state.unknown)}). Get that version, or use another database "
            "(PMWEB_HOME, PMWEB_DATABASE_URL)."
        )
    if state.needs_migration:
        log.info("preparing the database %s", database_name())
        call_command("migrate", verbosity=0, interactive=False)


def collect_static_files() -> None:
    """Collect and compress the static files if any has changed since the last time."""
    stamp = settings.HOME / "static.stamp"
    fingerprint = static_fingerprint()
    collected = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if collected.is_file() and stamp.is_file() and stamp.read_text() == fingerprint:
        return
    log.info("collecting the static files")
    stamp.unlink(missing_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False, clear=True)
    stamp.write_text(fingerprint)


def static_fingerprint() -> str:
    """Digest of paths, sizes and times of all static files."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list(None):
            status = Path(storage.path(name)).stat()
            digest.update(f"{storage.path(name)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def database_name() -> str:
    """Name of the database for messages, without secrets."""
    facts = settings.DATABASES["default"]
    if connection.vendor == "postgresql":
        return f"{facts['NAME']} of {facts['HOST']}{':' if facts['PORT'] else ''}{facts['PORT']}"
    return str(facts["NAME"])


def _database_error_text(error: OperationalError) -> str:
    name = database_name()
    message = str(error).strip()
    if connection.vendor == "postgresql":
        return (
            f"the database {name} refuses the connection or does not answer: {message}. "
            "Check PMWEB_DATABASE_URL, and that PostgreSQL runs there."
        )
    if "locked" in message:
        timeout = settings.DATABASES["default"]["OPTIONS"]["timeout"]
        return (
            f"another program holds the database {name} (waited {timeout} s). "
            "Wait until it is done, or close it: `fuser -v` followed by that path names it."
        )
    if "readonly" in message or "unable to open" in message:
        return f"cannot write the database {name} ({message}). Check its owner, or set PMWEB_HOME elsewhere."
    if "full" in message:
        return f"no space left for the database {name} ({message})."
    return f"the database {name} cannot be used: {message}."


@contextmanager
def create_tables(alias: str, migrations: Collection[str] | None = None) -> Iterator[dict[str, list[str]]]:
    """Create the tables of an empty database in the final state of migrations, and record these as applied.

    Data migrations are skipped, as there are no rows. The caller may insert rows inside the context: foreign
    keys and indexes are created at its end where the database supports that. It is one transaction.

    Args:
        alias: Alias of the database.
        migrations: "app.name" of the migrations, unknown ones included; None for all.

    Yields:
        {table: columns} without `django_migrations`.
    """
    connection = connections[alias]
    executor = MigrationExecutor(connection)
    loader = executor.loader
    nodes = [
        node for node in loader.graph.nodes if migrations is None or ".".join(node) in migrations
    ] or loader.graph.leaf_nodes()
    plan = executor.migration_plan(nodes)
    apps = loader.project_state(nodes).apps
    # No nested transaction inside an open one: Django would not end it if its deferred statements fail.
    with connection.schema_editor(atomic=not connection.in_atomic_block) as editor:
        for model in apps.get_models():
            if model._meta.can_migrate(connection):  # not a proxy or unmanaged model
                editor.create_model(model)
        executor.recorder.ensure_schema()
        for migration, _ in plan:
            executor.recorder.record_applied(migration.app_label, migration.name)
        yield {
            model._meta.db_table: [str(field.column) for field in model._meta.local_concrete_fields]
            for model in apps.get_models(include_auto_created=True)
            if model._meta.can_migrate(connection)
        }
