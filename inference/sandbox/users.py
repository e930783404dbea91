"""The unprivileged user that foreign programs run as where the site runs as root."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from inference.sandbox import kernel

UNPRIVILEGED = 65533
"""Id of a user and a group that own nothing: distributions give it to no account, not even to `nobody`."""


def is_root() -> bool:
    return os.geteuid() == 0


def try_unprivileged() -> None:
    """Become the unprivileged user; `OSError` where root may not, or cannot open transferred files."""
    file = os.memfd_create("probe")
    os.fchmod(file, stat.S_IRUSR | stat.S_IWUSR)
    os.fchown(file, UNPRIVILEGED, UNPRIVILEGED)
    os.close(os.open(f"/proc/self/fd/{file}", os.O_RDWR))
    become_unprivileged()


def become_unprivileged(*, keep_read_capability: bool = False) -> None:
    """Become the unprivileged user for good, without groups and capabilities. Raises `OSError`.

    `keep_read_capability`: keep the right to read all files that root can read, which root of many containers
    lacks.
    """
    if keep_read_capability and not kernel.keep_capabilities():
        raise OSError("this kernel cannot keep capabilities for another user")
    os.setgroups([])
    os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    if keep_read_capability:
        with contextlib.suppress(PermissionError):
            kernel.no_capabilities(but=kernel.READ_ALL_FILES)
            return
    kernel.no_capabilities()


def transfer_ownership(scratch: str, caches: Iterable[str]) -> None:
    """Give root's scratch folder with its files, and root's caches, to the unprivileged user.

    Of a cache, directories change their owner, so that files in them can be replaced. A file may be
    hard-linked elsewhere, and stays root's. Raises `OSError`.
    """
    if scratch:
        _chown(scratch, *(entry.path for entry in os.scandir(scratch)))
    for place in caches:
        if os.path.isdir(place) and Path(place).stat().st_uid == 0:  # noqa: PTH112
            with contextlib.suppress(OSError):  # nothing can be changed there at all
                for _, names, _, directory in os.fwalk(place):
                    _chown(*names, directory=directory)
                _chown(place)


def _chown(*names: str, directory: int | None = None) -> None:
    for name in names:
        os.chown(name, UNPRIVILEGED, UNPRIVILEGED, dir_fd=directory, follow_symlinks=False)


def is_closed(place: str) -> bool:
    """Whether a file or directory lies below a directory that only its owner or a group may enter."""
    return any(_only_for_some(directory) for directory in Path(place).parents)


@cache
def _only_for_some(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        return not directory.stat().st_mode & stat.S_IXOTH
    return False
