"""What must be in place before the site starts: database, instruction set, administrator, static files.

Each step first looks whether anything has changed since the last start: a start without news takes no time.
"""

from __future__ import annotations

import hashlib
import io
import logging
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from pmweb import __version__
from pmweb.accounts.administrator import ensure_administrator
from pmweb.launcher.errors import LaunchError

log = logging.getLogger(__name__)


def prepare() -> None:
    """Bring the data directory up to date; raises LaunchError, in words, where that is impossible."""
    try:
        _ = settings.SECRET_KEY  # made now, so that trouble with it is told here and not on the first page
        migrate_database()
        call_command("load-isa", "x86-64", "AArch64", stdout=io.StringIO())
        ensure_administrator()
    except ImproperlyConfigured as error:
        raise LaunchError(f"{error}.") from error
    except OperationalError as error:
        raise LaunchError(_database_trouble(error)) from error
    except DatabaseError as error:
        raise LaunchError(
            f"{settings.DATABASES['default']['NAME']} is not a database of pmweb ({error}). "
            "Move it away, or set PMWEB_HOME to another directory."
        ) from error
    collect_static_files()
    connection.close()  # the supervisor itself holds no connection while it runs


def migrate_database() -> None:
    """Apply the migrations that the database lacks, and refuse one that has more than this program."""
    loader = MigrationLoader(connection)
    own = {"pmweb", "inference"}
    newer = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in own and (app, name) not in loader.disk_migrations
    )
    if newer:
        raise LaunchError(
            f"the database in {settings.HOME} was made by a newer version of pmweb (this is {__version__}; "
            f"unknown here: {', '.join(newer)}). Get that version, or let PMWEB_HOME name another directory."
        )
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        log.info("preparing the database in %s", settings.HOME)
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


def _database_trouble(error: OperationalError) -> str:
    database = settings.DATABASES["default"]
    name = database["NAME"]
    said = str(error)
    if "locked" in said:
        return (
            f"another program holds the database {name} (waited {database['OPTIONS']['timeout']} s). "
            "Wait until it is done, or close it: `fuser -v` followed by that path names it."
        )
    if "readonly" in said or "unable to open" in said:
        return f"cannot write the database {name} ({said}). Check its owner, or set PMWEB_HOME elsewhere."
    if "full" in said:
        return f"no space left for the database {name} ({said})."
    return f"the database {name} cannot be used: {said}."
