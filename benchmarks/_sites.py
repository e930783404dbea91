"""Sites in processes of their own, for as long as a benchmark lasts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from pmweb.cookies import name_at
from pmweb.origins import origin_in
from tests.launched import LaunchedSite

START_SECONDS = 900.0


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
    name = name_at(origin_in(server), settings.SESSION_COOKIE_NAME)
    return f"{name}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
