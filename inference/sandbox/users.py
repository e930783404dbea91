"""The user that foreign programs run as where the site runs as root."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from inference.sandbox import kernel

UNPRIVILEGED = 65533
"""Number of a user and a group that own nothing: distributions give it to nobody, not even to `nobody`."""


def is_root() -> bool:
    """Whether this process owns what root owns."""
    return os.geteuid() == 0


def try_unprivileged() -> None:
    """Become the unprivileged user; `OSError` where root may not, or loses the files that it hands over."""
    file = os.memfd_create("probe")
    os.fchmod(file, stat.S_IRUSR | stat.S_IWUSR)
    os.fchown(file, UNPRIVILEGED, UNPRIVILEGED)
    os.close(os.open(f"/proc/self/fd/{file}", os.O_RDWR))
    become_unprivileged()


def become_unprivileged(*, reads_anything: bool = False) -> None:
    """Be another user from now on, without groups and capabilities. Raises `OSError`.

    `reads_anything`: keep the one right to read whatever root can, which root of many containers lacks.
    """
    if reads_anything and not kernel.keep_capabilities():
        raise OSError("this kernel keeps no capability for another user")
    os.setgroups([])
    os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    if reads_anything:
        with contextlib.suppress(PermissionError):
            kernel.no_capabilities(but=kernel.READ_ANYTHING)
            return
    kernel.no_capabilities()


def hand_over(scratch: str, caches: Iterable[str]) -> None:
    """Let root's scratch folder and the files in it belong to the unprivileged user, and root's caches.

    Of a cache the directories change their owner: files in it can be replaced then. A file may have another
    name elsewhere, and stays root's. Raises `OSError`.
    """
    if scratch:
        _give(scratch, *(entry.path for entry in os.scandir(scratch)))
    for place in caches:
        if os.path.isdir(place) and Path(place).stat().st_uid == 0:  # noqa: PTH112
            with contextlib.suppress(OSError):  # nothing can be changed there at all
                for _, names, _, directory in os.fwalk(place):
                    _give(*names, directory=directory)
                _give(place)


def _give(*names: str, directory: int | None = None) -> None:
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
