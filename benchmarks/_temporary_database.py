"""A database for as long as a benchmark lasts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connections

PLAIN_STATIC = {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
}
"""The setting `STORAGES` of a site whose static files were not collected."""


@contextmanager
def temporary_database() -> Iterator[Path]:
    """An empty SQLite database as the product sets it up, in place of the site's, as long as this lasts.

    Yields the data directory that it makes, which a site can be started on.
    """
    connection = connections["default"]
    before = connection.settings_dict["NAME"]
    connection.close()
    with tempfile.TemporaryDirectory(prefix="pmweb-generated-") as directory:
        home = Path(directory)
        connection.settings_dict["NAME"] = home / "pmweb.sqlite3"
        try:
            call_command("migrate", verbosity=0)
            yield home
        finally:
            connection.close()
            connection.settings_dict["NAME"] = before
