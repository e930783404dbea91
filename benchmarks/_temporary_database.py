"""A database for as long as a benchmark lasts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connections
from django.test import Client, override_settings

from pmweb.accounts.people import ensure_administrator

PLAIN_STATIC = {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
}
"""The setting `STORAGES` of a site whose static files were not collected."""


@contextmanager
def database_in(home: Path) -> Iterator[None]:
    """The database of a data directory, in place of this process's own, as long as this lasts."""
    connection = connections["default"]
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = home / "pmweb.sqlite3"
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


@contextmanager
def temporary_database() -> Iterator[Path]:
    """An empty SQLite database as the product sets it up, in place of the site's, as long as this lasts.

    Yields the data directory that it makes, which a site can be started on; Django's test client can request
    pages of it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pmweb-generated-") as directory,
        database_in(Path(directory)),
        override_settings(STORAGES=PLAIN_STATIC, ALLOWED_HOSTS=["testserver"]),
    ):
        call_command("migrate", verbosity=0)
        yield Path(directory)


def administrators_client() -> Client:
    """A browser in this process in which the administrator has logged in."""
    client = Client()
    client.force_login(ensure_administrator())
    return client
