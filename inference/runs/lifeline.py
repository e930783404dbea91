"""Ties a process to its parent: Linux ends it when the parent is gone, however that came about."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork: a forked child must not load libraries


def end_with(parent: int) -> bool:
    """Ask to be killed when `parent` dies; False if it has died already: then nobody would send the signal.

    Raises `OSError` where Linux refuses.
    """
    if sys.platform == "linux" and _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    return os.getppid() == parent
