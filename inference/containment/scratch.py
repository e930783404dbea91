"""Scratch folders: made for a program, and removed whatever it has left in them."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

logger = logging.getLogger(__name__)

_ONLY_OWNER = 0o700


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
    """Remove a scratch folder after the end of its program; what stays is in the log.

    Where the program had a copy of its own (`inference.sandbox.mounts`), nothing of it is here. Otherwise there
    may be directories that may not be entered, and more of them in each other than a recursion goes down: each
    is moved to the top before it is emptied.
    """
    numbers = count()
    try:
        while names := os.listdir(folder):  # noqa: PTH208  names are wanted
            for name in names:
                _remove(Path(folder, name), Path(folder), numbers)
        Path(folder).rmdir()
    except OSError as error:
        logger.warning("%s is not removed: %s", folder, error)
        shutil.rmtree(folder, ignore_errors=True)


def _remove(place: Path, top: Path, numbers: Iterator[int]) -> None:
    if place.is_symlink() or not place.is_dir():
        place.unlink()
        return
    place.chmod(_ONLY_OWNER)
    for entry in list(place.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            entry.chmod(_ONLY_OWNER)  # it could not be moved otherwise
            entry.rename(_unused(top, numbers))
        else:
            entry.unlink()
    place.rmdir()


def _unused(top: Path, numbers: Iterator[int]) -> Path:
    paths = (top / f"moved-{number}" for number in numbers)
    return next(path for path in paths if not os.path.lexists(path))
