"""What must be in place before the site starts: database, instruction set, administrator, static files.

Each step first looks whether anything has changed since the last start: a start without news takes no time.
In an empty database the tables are made at once as the migrations leave them: one migration after the other
would make and remake them a hundred times, which takes most of a first start.
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

from inference.models.schema import schema
from inference.runs.data_directory import repair
from inference.runs.errors import NotPrivateError
from pmweb import __version__
from pmweb.accounts.people import ensure_administrator
from pmweb.launcher.supervisor import LaunchError

log = logging.getLogger(__name__)


def prepare() -> None:
    """Bring the data directory up to date; raises LaunchError, in words, where that is impossible."""
    try:
        repair(settings.HOME)
        _ = settings.SECRET_KEY  # made now, so that trouble with it is told here and not on the first page
        with nobody_else():
            migrate_database()
            call_command("load-isa", "x86-64", "AArch64", stdout=io.StringIO())
            ensure_administrator()
    except (ImproperlyConfigured, NotPrivateError) as error:
        raise LaunchError(f"{error}.") from error
    except OperationalError as error:
        raise LaunchError(_database_trouble(error)) from error
    except DatabaseError as error:
        raise LaunchError(
            f"{database_name()} is not a database of pmweb ({error}). "
            "Move it away, or let PMWEB_HOME or PMWEB_DATABASE_URL name another one."
        ) from error
    collect_static_files()
    connection.close()  # the supervisor itself holds no connection while it runs


@contextmanager
def nobody_else() -> Iterator[None]:
    """While this lasts, no other computer prepares the same database: two would get in each other's way."""
    if connection.vendor != "postgresql":
        yield  # one data directory, one site (`instance`)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext('pmweb is prepared'))")
    try:
        yield
    finally:
        connection.close()  # which gives the lock back, whatever state the connection is in


def migrate_database() -> None:
    """Apply the migrations that the database lacks, and refuse one that has more than this program."""
    found = schema()
    if found.unknown:
        raise LaunchError(
            f"the database {database_name()} was made by a newer version of pmweb (this is {__version__}; "
            f"unknown here: {', '.join(found.unknown)}). Get that version, or use another database "
            "(PMWEB_HOME, PMWEB_DATABASE_URL)."
        )
    if found.lacks:
        log.info("preparing the database %s", database_name())
        call_command("migrate", verbosity=0, interactive=False)


def collect_static_files() -> None:
    """Collect and compress the static files, if one of them has changed since they were collected."""
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
    """Changes with the name, size or time of any static file and with where it lies."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list(None):
            status = Path(storage.path(name)).stat()
            digest.update(f"{storage.path(name)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def database_name() -> str:
    """Where the data is, in a way that tells no secret."""
    facts = settings.DATABASES["default"]
    if connection.vendor == "postgresql":
        return f"{facts['NAME']} of {facts['HOST']}{':' if facts['PORT'] else ''}{facts['PORT']}"
    return str(facts["NAME"])


def _database_trouble(error: OperationalError) -> str:
    name = database_name()
    said = str(error).strip()
    if connection.vendor == "postgresql":
        return (
            f"the database {name} does not let us in or does not answer: {said}. Check PMWEB_DATABASE_URL, "
            "and that PostgreSQL runs there."
        )
    if "locked" in said:
        patience = settings.DATABASES["default"]["OPTIONS"]["timeout"]
        return (
            f"another program holds the database {name} (waited {patience} s). "
            "Wait until it is done, or close it: `fuser -v` followed by that path names it."
        )
    if "readonly" in said or "unable to open" in said:
        return f"cannot write the database {name} ({said}). Check its owner, or set PMWEB_HOME elsewhere."
    if "full" in said:
        return f"no space left for the database {name} ({said})."
    return f"the database {name} cannot be used: {said}."


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
