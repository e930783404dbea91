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

from inference.runs.data_directory import make_private
from inference.runs.errors import NotPrivateError
from pmweb.launcher.supervisor import LaunchError

MANAGE = settings.BASE_DIR / "manage.py"


_LOCK_ATTEMPTS = 5


def manage_command(*arguments: str) -> str:
    """A shell command for `manage.py` with this Python and full paths.

    Full paths work in every directory: with `make -C` the user's differs from the program's.
    """
    return shlex.join([sys.executable, str(MANAGE), *arguments])


class Instance:
    """The lock on a data directory; its file has the holder's process id and URL."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, url: str) -> None:
        """Write the site's URL into the file."""
        text = json.dumps({"pid": os.getpid(), "url": url}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)


@contextmanager
def only_instance(home: Path) -> Iterator[Instance]:
    """Lock the data directory; the kernel releases the lock when the process ends.

    Raises:
        LaunchError: Another site holds the lock, or the directory cannot be used.
    """
    try:
        make_private(home)
        descriptor = os.open(home / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except NotPrivateError as error:
        raise LaunchError(f"{error}.") from error
    except OSError as error:
        raise LaunchError(
            f"cannot write to the data directory {home}: {error.strerror}. "
            "Set PMWEB_HOME to a directory that you can write to."
        ) from error
    try:
        _lock(descriptor, home)
        os.ftruncate(descriptor, 0)
        yield Instance(descriptor)
    finally:
        os.close(descriptor)


def running_site(home: Path) -> str | None:
    """The URL of the site that holds `home`; None if there is none, or if it is still starting."""
    try:
        descriptor = os.open(home / "up.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_announcement(os.pread(descriptor, 4096, 0)).get("url")
    finally:
        os.close(descriptor)
    return None


def site_address() -> str:
    """The site's address for printed links: configured, that of the running site, or the default."""
    return (settings.URL or running_site(settings.HOME) or "http://localhost:8000").rstrip("/")


def has_site_address() -> bool:
    """False if `site_address` is only the default."""
    return bool(settings.URL or running_site(settings.HOME))


def _lock(descriptor: int, home: Path) -> None:
    """Take the lock; retries for half a second, as `running_site` holds it for an instant."""
    for attempts in range(_LOCK_ATTEMPTS, 0, -1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if attempts == 1:
                raise LaunchError(_already_running_text(home, os.pread(descriptor, 4096, 0))) from error
            time.sleep(0.1)
        else:
            return


def _read_announcement(text: bytes) -> dict[str, str]:
    try:
        facts: dict[str, str] = json.loads(text)
        return facts
    except ValueError:  # the holder has not written it yet
        return {}


def _already_running_text(home: Path, text: bytes) -> str:
    holder = _read_announcement(text)
    if "url" not in holder:
        return f"pmweb is already starting with the data in {home}."
    return (
        f"pmweb is already running at {holder['url']} (process {holder['pid']}) with the data in {home}. "
        f"Use that one (`{manage_command('login-link')}` prints a link), or stop it first."
    )
