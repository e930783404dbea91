"""Permissions of the data directory: only its owner may read the database and the secret key.

`set_private_umask` makes new files private. `make_contents_private` corrects files of older versions and
later changes of mode when the site starts. A directory that cannot be made private is refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from inference.runs.errors import NotPrivateError

_NON_OWNER_BITS = stat.S_IRWXG | stat.S_IRWXO


def set_private_umask() -> None:
    """Deny group and others all access to files that this process and its children create from now on."""
    os.umask(os.umask(_NON_OWNER_BITS) | _NON_OWNER_BITS)


def make_private(home: Path) -> None:
    """Create the directory, or deny group and others access to an existing one.

    Raises:
        NotPrivateError: The mode cannot be changed.
        OSError: The directory cannot be created.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _restrict(home)


def make_contents_private(home: Path) -> None:
    """Make the directory and everything below it private; symbolic links are not followed.

    Raises:
        NotPrivateError: The mode of a file cannot be changed.
        OSError: The directory cannot be created.
    """
    make_private(home)
    # From the top down: in a private directory no other user can exchange the entries.
    directories = [home]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                if entry.is_symlink() or not _restrict_if_present(Path(entry.path)):
                    continue
                if entry.is_dir() and os.access(entry.path, os.R_OK | os.X_OK):
                    directories.append(Path(entry.path))


def _restrict_if_present(path: Path) -> bool:
    try:
        _restrict(path)
    except FileNotFoundError:  # a temporary file, or the socket of a process that has ended
        return False
    return True


def _restrict(path: Path) -> None:
    mode = _mode(path)
    if not mode & _NON_OWNER_BITS:
        return
    try:
        path.chmod(mode & ~_NON_OWNER_BITS)
    except PermissionError as error:
        owner = path.stat().st_uid
        raise NotPrivateError(
            path, f"belongs to user {owner}, but this program runs as user {os.geteuid()}: `chown -R` it"
        ) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotPrivateError(path, f"cannot be made private ({error.strerror})") from error
    if _mode(path) & _NON_OWNER_BITS:
        raise NotPrivateError(path, "is on a file system without permissions: move it to another one")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
