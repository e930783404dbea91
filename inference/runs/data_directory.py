"""The data directory is its owner's alone: nobody else on the computer reads the database or the secret key.

What the site writes is private from the start (`keep_private`). What an older version has written, or
somebody has opened since, is closed again when the site starts (`repair`), and a directory that cannot be
closed is not used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from inference.runs.errors import NotPrivateError

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private() -> None:
    """Let whatever this process and those that it starts write from now on be readable by its owner alone."""
    os.umask(os.umask(OTHERS) | OTHERS)


def claim(home: Path) -> None:
    """Make the directory, or close it to others.

    Raises `NotPrivateError` where that is impossible, `OSError` for one that cannot be made.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _close(home)


def repair(home: Path) -> None:
    """`claim` the directory, and close all that lies in it. Raises what that one does."""
    claim(home)
    # From the top down: where a directory is closed, nobody can exchange what lies in it any more.
    waiting = [home]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink() or not _close_if_there(Path(entry.path)):
                    continue
                if entry.is_dir() and os.access(entry.path, os.R_OK | os.X_OK):
                    waiting.append(Path(entry.path))


def _close_if_there(path: Path) -> bool:
    try:
        _close(path)
    except FileNotFoundError:  # a draft, or a socket whose process has ended
        return False
    return True


def _close(path: Path) -> None:
    mode = _mode(path)
    if not mode & OTHERS:
        return
    try:
        path.chmod(mode & ~OTHERS)
    except PermissionError as error:
        owner = path.stat().st_uid
        raise NotPrivateError(
            path, f"belongs to user {owner}, not to user {os.geteuid()} as whom this runs: `chown -R` it"
        ) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotPrivateError(path, f"cannot be closed to them ({error.strerror})") from error
    if _mode(path) & OTHERS:
        raise NotPrivateError(path, "is on a file system that keeps no permissions: move it to another one")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
