"""What only Linux can be asked about a process: that it ends with its parent, and what it is called."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork: a forked child must not load libraries


def end_with(parent: int) -> bool:
    """Ask to be killed when `parent` dies; False if it has died already: then nobody would send the signal.

    Raises `OSError` where Linux refuses.
    """
    if sys.platform == "linux" and _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    return os.getppid() == parent


def call_process(name: str) -> None:
    """What process listings call this process in place of its program; 15 characters at most."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
