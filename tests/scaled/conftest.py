"""Sites on a private PostgreSQL and a private Redis, one of each per test process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from channels.layers import channel_layers
from django.conf import settings
from django.db import connections
from django.test.signals import setting_changed

from inference.runs.kinds import RUN_KINDS
from pmweb import environment as site_environment
from tests.runs.counting.job import COUNTING
from tests.runs.fixtures import Site, connected_site, environment
from tests.servers import NotInstalledError, PostgreSQL, Redis

ServerT = TypeVar("ServerT", PostgreSQL, Redis)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Whatever is put on it ends with the test."""
    with ExitStack() as stack:
        yield stack


def serving(kind: type[ServerT]) -> Iterator[ServerT]:
    """A server of that kind while it is used; a skipped test where it is not installed."""
    try:
        server = kind()
    except NotInstalledError as error:
        pytest.skip(str(error))
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    yield from serving(PostgreSQL)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    yield from serving(Redis)


@pytest.fixture(scope="session")
def migrated_database(postgresql: PostgreSQL, tmp_path_factory) -> str:
    """A freshly migrated database, to be copied."""
    database = postgresql.copy()
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "migrate", "-v0", "--skip-checks"]
    home = tmp_path_factory.mktemp("migrated")
    subprocess.run(command, env={**environment(home), **postgresql.environment(database)}, check=True)
    return database


@contextmanager
def opened_on(postgresql: PostgreSQL, database: str, home: Path, blocker, **more: str) -> Iterator[Site]:
    """This process's default database becomes one on the server; so do those of processes started here."""
    original_layers = settings.CHANNEL_LAYERS
    with pytest.MonkeyPatch.context() as patch, blocker.unblock():
        patch.setitem(RUN_KINDS, "count", COUNTING)
        variables = {
            "PMWEB_HOME": str(home),
            "DJANGO_SETTINGS_MODULE": "tests.runs.site_settings",
            **postgresql.environment(database),
            **more,
        }
        for name, value in variables.items():
            patch.setenv(name, value)
        facts = connections.configure_settings({"default": site_environment.database(home)})["default"]
        patch.setitem(connections.settings, "default", {**connections.settings["default"], **facts})
        patch.setattr(settings, "HOME", home)
        layers = site_environment.channel_layers(os.environ.get("PMWEB_REDIS_URL", ""))
        _use_layers(patch, layers)
        try:
            with connected_site(home) as made:
                yield made
        finally:
            postgresql.drop(database)
    assert original_layers == settings.CHANNEL_LAYERS
    channel_layers.backends.clear()


def _use_layers(patch: pytest.MonkeyPatch, layers: dict) -> None:
    patch.setattr(settings, "CHANNEL_LAYERS", layers)
    setting_changed.send(sender=None, setting="CHANNEL_LAYERS", value=layers, enter=True)


@pytest.fixture
def site(postgresql: PostgreSQL, migrated_database: str, tmp_path: Path, django_db_blocker) -> Iterator[Site]:
    """A site of its own for one test on PostgreSQL, without a worker; what `tests.runs` has on SQLite."""
    database = postgresql.copy(migrated_database)
    with opened_on(postgresql, database, tmp_path, django_db_blocker) as made:
        yield made


@pytest.fixture
def rung_site(
    postgresql: PostgreSQL, redis_server: Redis, migrated_database: str, tmp_path: Path, django_db_blocker
) -> Iterator[Site]:
    """The same with Redis."""
    database = postgresql.copy(migrated_database)
    with opened_on(
        postgresql, database, tmp_path, django_db_blocker, PMWEB_REDIS_URL=redis_server.url
    ) as made:
        yield made
