"""What all tests share: no trace outside temporary directories, and honest skips."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from django.conf import settings
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from pmweb.garbage import collect_rarely
from tests.drawn import USUAL, fewer
from tests.heap import keep_heap_low
from tests.prepared import migrated_file

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.backends.base.base import BaseDatabaseWrapper

collect_rarely()
keep_heap_low()

# Far more runs at a time here than processors: those that gave way would never get one.
os.environ.setdefault("PMWEB_RUN_NICENESS", "0")

_home = Path(tempfile.mkdtemp(prefix="pmweb-tests-"))

IN_MEMORY = "file:memorydb_default?mode=memory&cache=shared"
"""What Django calls its database for tests."""


def pytest_configure() -> None:
    """Let Django write below a temporary directory, serve static files uncollected, and hash quickly."""
    settings.HOME = _home
    settings.STATIC_ROOT = _home / "static"
    settings.STATIC_ROOT.mkdir()
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Whatever depends on a quiet computer is a benchmark; the same examples every time where nobody looks on.
    base = hypothesis.settings.get_profile("ci" if os.environ.get("CI") else "default")
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(
        "patient", base, deadline=None, suppress_health_check=slow, max_examples=fewer(USUAL)
    )
    hypothesis.settings.load_profile("patient")


@receiver(connection_created)
def read_while_another_thread_writes(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Let threads that share the database in memory read a table that another has written to.

    Connections to it share a cache, which locks whole tables and waits for nobody; a file does neither.
    """
    if connection.vendor == "sqlite" and connection.settings_dict["NAME"] == IN_MEMORY:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA read_uncommitted = 1")


def pytest_collection(session: pytest.Session) -> None:
    """Where several processes collect the same tests: rewrite the asserts of a share for all of them.

    Else each process would rewrite those of all modules, as they all come to a module at the same moment.
    """
    config = session.config
    worker = getattr(config, "workerinput", None)  # of pytest-xdist
    if worker is None:
        return
    ignored = [config.rootpath / path for path in config.getoption("ignore") or ()]
    folders = [config.rootpath / argument for argument in config.args]
    modules = sorted(
        path
        for folder in folders
        for path in folder.rglob("test_*.py")
        if not any(path.is_relative_to(other) for other in ignored)
    )
    number = int(worker["workerid"].removeprefix("gw"))
    for path in modules[number :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # the collection says what cannot be imported
            import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


def pytest_unconfigure() -> None:
    """Remove the temporary directory."""
    shutil.rmtree(_home, ignore_errors=True)


def pytest_collection_finish() -> None:
    """Look for garbage among what comes from now on alone: thousands of tests stay."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the published data where it is absent; put the browser last.

    Playwright keeps an event loop running in this process, in which asyncio tests could not start theirs.
    """
    data = settings.SHARED / "data"
    absent = pytest.mark.skip(reason=f"the published data is not in {data}: set PMWEB_SHARED")
    for item in items:
        if "shared" in item.keywords and not data.is_dir():
            item.add_marker(absent)
    items.sort(key=lambda item: "browser" in item.keywords)


@pytest.fixture(scope="session")
def on_sqlite() -> bool:
    """Whether the tests' own database is SQLite, in memory; `tests.scaled` repeats some on PostgreSQL."""
    return settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")


@pytest.fixture(scope="session")
def django_db_keepdb(on_sqlite: bool) -> bool:
    """Whether Django takes the database as it finds it: that in memory is filled before."""
    return on_sqlite


@pytest.fixture(scope="session")
def django_db_modify_db_settings(on_sqlite: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fill the database in memory from a file that was migrated once for all processes of the run."""
    if not on_sqlite:
        yield
        return
    with closing(sqlite3.connect(IN_MEMORY, uri=True)) as memory:
        with closing(sqlite3.connect(migrated_file(tmp_path_factory))) as file:
            file.backup(memory)
        yield


@pytest.fixture
def trusting_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who lets predictors be any program, and tools lie in the test's own directory."""
    from inference.predictors import permission

    monkeypatch.setenv("PMWEB_TOOL_DIRECTORIES", str(tmp_path))
    monkeypatch.setattr(permission._operator, "allows_commands", True)


@pytest.fixture
def administrator(db: None) -> User:
    """The administrator's account."""
    from pmweb.accounts.people import ensure_administrator

    return ensure_administrator()
