"""What takes seconds to make, made once in a test run, of which every test that wants it gets a copy."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

DATABASE = "pmweb.sqlite3"
SHARED_DIRECTORY = "PMWEB_TESTS_PREPARED"  # of all sessions of `.ci/tests`
PREPARE = "from pmweb.launcher.prepare import prepare; prepare()"


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The directory of that name, filled by the first of all processes of the test run that wants it."""
    base = factory.getbasetemp()
    if SHARED_DIRECTORY in os.environ:
        base = Path(os.environ[SHARED_DIRECTORY])
    elif "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    directory = base / name
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            unfinished = Path(tempfile.mkdtemp(dir=base))
            make(unfinished)
            unfinished.rename(directory)
    return directory


def migrated_file(factory: pytest.TempPathFactory) -> Path:
    """A freshly migrated database file, to be copied."""
    return once(factory, "migrated", lambda home: _manage(home, "migrate", "-v0", "--skip-checks")) / DATABASE


def prepared_home(factory: pytest.TempPathFactory, home: Path) -> Path:
    """Make `home` a data directory such as a first start leaves it, with nobody's rows in it."""
    return shutil.copytree(
        once(factory, "prepared", lambda made: _manage(made, "shell", "-c", PREPARE)), home
    )


def _manage(home: Path, *arguments: str) -> None:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    subprocess.run(command, env={**os.environ, "PMWEB_HOME": str(home)}, check=True)
