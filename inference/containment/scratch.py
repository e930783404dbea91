"""Scratch folders: made for a program, and removed whatever it has left in them."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)

_ONLY_OWNER = 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def make_scratch() -> str:
    """A new, empty folder that only this user enters; its path."""
    return tempfile.mkdtemp(prefix="pmweb-tool-")


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A scratch folder that ends with the block."""
    folder = make_scratch()
    try:
        yield folder
    finally:
        remove_scratch(folder)


def remove_scratch(folder: str) -> None:
    """Remove a scratch folder after the end of its program; what cannot be removed is in the log.

    Where the program had a copy of its own (`inference.sandbox.mounts`), nothing of it is here. Otherwise
    there may be directories that may not be entered, and more in each other than a recursion goes down.
    """
    try:
        _empty(folder)
        Path(folder).rmdir()
    except OSError as error:
        logger.warning("%s is not removed: %s", folder, error)


def _empty(folder: str) -> None:
    """Go down into one directory after the other, and remove each on the way up."""
    here = os.open(folder, _DIRECTORY)
    names: list[str] = []  # of the directories from the folder to here
    try:
        while True:
            below = _first_directory(here)
            if below is not None:
                names.append(below)
                here = _opened(here, below)
            elif names:
                here = _moved(here, "..")
                os.rmdir(names.pop(), dir_fd=here)
            else:
                return
    finally:
        os.close(here)


def _first_directory(directory: int) -> str | None:
    """Remove files up to a directory in this one; its name, None where there is none."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            os.unlink(entry.name, dir_fd=directory)
    return None


def _opened(directory: int, name: str) -> int:
    """`_moved` into a directory that may be closed: root enters those as they are."""
    try:
        return _moved(directory, name)
    except PermissionError:
        os.chmod(name, _ONLY_OWNER, dir_fd=directory)
        return _moved(directory, name)


def _moved(directory: int, name: str) -> int:
    """The directory that has this name in another one, which is closed."""
    there = os.open(name, _DIRECTORY, dir_fd=directory)
    os.close(directory)
    return there
