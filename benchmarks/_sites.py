"""Sites and databases that a benchmark has for itself, with all that belongs to them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.test import Client, override_settings

from pmweb.accounts.people import ensure_administrator
from pmweb.origins import cookie_name_at, origin_in
from tests.launched import LaunchedSite

START_SECONDS = 900.0  # until a site answers, with its database made


@contextmanager
def launched_site(
    *options: str, environment: Mapping[str, str] | None = None, home: Path | None = None
) -> Iterator[LaunchedSite]:
    """A site of `manage.py up` that has started: on a data directory of its own unless `home` is one.

    It has the secret key of this process, so that sessions and tokens that are made here are valid there.
    """
    with tempfile.TemporaryDirectory(prefix="pmweb-benchmark-") as directory:
        variables = {"PMWEB_SECRET_KEY": str(settings.SECRET_KEY), **(environment or {})}
        site = LaunchedSite(home or Path(directory) / "home", "--port", "0", *options, environment=variables)
        try:
            site.wait_for("Ctrl-C stops everything", START_SECONDS)
            yield site
        finally:
            site.stop()


def session_cookie(user: User, server: str) -> str:
    """The cookie of a browser in which somebody has logged in at a site, whose database is this process's."""
    client = Client()
    client.force_login(user)
    name = cookie_name_at(origin_in(server), settings.SESSION_COOKIE_NAME)
    return f"{name}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


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
