"""Between a process and who has started it: that the one ends with the other, and that it still goes on."""

from __future__ import annotations

import contextlib
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


HEARTBEAT_VARIABLE = "PMWEB_HEARTBEAT"
"""The descriptor of the pipe over which a process shows its supervisor that it goes on."""
HEARTBEAT_INTERVAL = 1.0  # seconds


class Heartbeat:
    """Says to the supervisor of this process, if it has one that listens, that its loop takes its turn."""

    def __init__(self) -> None:
        descriptor = os.environ.pop(HEARTBEAT_VARIABLE, "")
        self._pipe = int(descriptor) if descriptor else None
        if self._pipe is not None:
            os.set_inheritable(self._pipe, False)

    def beat(self) -> None:
        """To be called from the loop, once per `HEARTBEAT_INTERVAL`."""
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError, BrokenPipeError):  # it does not listen at the moment
                os.write(self._pipe, b".")


def call_process(name: str) -> None:
    """What process listings call this process in place of its program; 15 characters at most."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
