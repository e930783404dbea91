"""What all tests share: no trace outside temporary directories, and honest skips."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from django.conf import settings

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# Far more runs at a time here than processors: those that gave way would never get one.
os.environ.setdefault("PMWEB_RUN_NICENESS", "0")

_home = Path(tempfile.mkdtemp(prefix="pmweb-tests-"))

LONG = ("scaled", "chaos", "pmweb", "runs", "agent", "cluster", "consumers", "commands")
"""Folders whose tests start processes and wait for them. They come first: then what is left at the end, when
one processor after the other runs out of work, is short."""


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
    hypothesis.settings.register_profile("patient", base, deadline=None, suppress_health_check=slow)
    hypothesis.settings.load_profile("patient")


def pytest_unconfigure() -> None:
    """Remove the temporary directory."""
    shutil.rmtree(_home, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the published data where it is absent; put the browser last.

    Playwright keeps an event loop running in this process, in which asyncio tests could not start theirs.
    """
    data = settings.SHARED / "data"
    absent = pytest.mark.skip(reason=f"the published data is not in {data}: set PMWEB_SHARED")
    for item in items:
        if "shared" in item.keywords and not data.is_dir():
            item.add_marker(absent)
    items.sort(key=lambda item: ("browser" in item.keywords, not set(LONG) & set(item.path.parts)))


@pytest.fixture
def administrator(db: None) -> User:
    """The administrator's account."""
    from pmweb.accounts.people import ensure_administrator

    return ensure_administrator()
