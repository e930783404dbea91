"""Open files that a process hands on to nobody."""

from __future__ import annotations

import contextlib
import os


def close_all_but(*descriptors: int) -> None:
    """Close every other open file, however high its number. Raises `OSError` without /proc.

    For a process with a single thread: another one might open files meanwhile.
    """
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208  names are wanted
        if number not in descriptors:
            with contextlib.suppress(OSError):  # the list itself is among them
                os.close(number)
