"""One running site per data directory."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from inference.runs.data_directory import claim
from inference.runs.errors import NotPrivateError
from pmweb.launcher.supervisor import LaunchError

MANAGE = settings.BASE_DIR / "manage.py"


_LOCK_ATTEMPTS = 5


def typed(*arguments: str) -> str:
    """A `manage.py` command under this very Python, with full paths.

    Those hold in every directory: after `make -C` the user's is not that of the program.
    """
    return shlex.join([sys.executable, str(MANAGE), *arguments])


class Instance:
    """The lock on a data directory; the file tells others who holds it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, url: str) -> None:
        """Write down where this site can be found."""
        text = json.dumps({"pid": os.getpid(), "url": url}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)


@contextmanager
def only_instance(home: Path) -> Iterator[Instance]:
    """Hold the data directory; raises LaunchError, naming the holder, where another site has it.

    The lock belongs to the open file: the kernel gives it back when the process ends, in whatever way.
    """
    try:
        claim(home)
        descriptor = os.open(home / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except NotPrivateError as error:
        raise LaunchError(f"{error}.") from error
    except OSError as error:
        raise LaunchError(
            f"cannot write to the data directory {home}: {error.strerror}. "
            "Set PMWEB_HOME to a directory of yours."
        ) from error
    try:
        _lock(descriptor, home)
        os.ftruncate(descriptor, 0)
        yield Instance(descriptor)
    finally:
        os.close(descriptor)


def running_site(home: Path) -> str | None:
    """The URL of the site that holds `home` now, None if none does or it is only starting."""
    try:
        descriptor = os.open(home / "up.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _announced(os.pread(descriptor, 4096, 0)).get("url")
    finally:
        os.close(descriptor)
    return None


def site_address() -> str:
    """Where links lead that a command prints: as configured, or to the site that runs; else a guess."""
    return (settings.URL or running_site(settings.HOME) or "http://localhost:8000").rstrip("/")


def is_site_known() -> bool:
    """Whether that is no guess."""
    return bool(settings.URL or running_site(settings.HOME))


def _lock(descriptor: int, home: Path) -> None:
    """Take the lock; tries for a moment, because `running_site` takes it for an instant to look."""
    for patience in range(_LOCK_ATTEMPTS, 0, -1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if patience == 1:
                raise LaunchError(_taken(home, os.pread(descriptor, 4096, 0))) from error
            time.sleep(0.1)
        else:
            return


def _announced(text: bytes) -> dict[str, str]:
    try:
        known: dict[str, str] = json.loads(text)
        return known
    except ValueError:  # its holder has not got that far
        return {}


def _taken(home: Path, text: bytes) -> str:
    holder = _announced(text)
    if "url" not in holder:
        return f"pmweb is already starting with the data in {home}."
    return (
        f"pmweb is already running at {holder['url']} (process {holder['pid']}) with the data in {home}. "
        f"Use that one (`{typed('login-link')}` prints a link), or stop it first."
    )
