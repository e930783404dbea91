"""A process and its parent: the signal at the parent's death, and heartbeats to a supervisor."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15  # operations of prctl (linux/prctl.h)
_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork: a forked child must not load libraries


def set_parent_death_signal(parent: int) -> bool:
    """Let Linux kill this process when `parent` dies.

    Returns:
        False if the parent has died already: then no signal will come.

    Raises:
        OSError: The kernel refuses.
    """
    if sys.platform == "linux" and _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    return os.getppid() == parent


HEARTBEAT_VARIABLE = "PMWEB_HEARTBEAT"
"""Environment variable with the descriptor of the pipe that takes heartbeats."""

HEARTBEAT_INTERVAL = 1.0  # seconds


class Heartbeat:
    """Shows the supervisor of this process, if there is one, that its event loop is running."""

    def __init__(self) -> None:
        descriptor = os.environ.pop(HEARTBEAT_VARIABLE, "")
        self._pipe = int(descriptor) if descriptor else None
        if self._pipe is not None:
            os.set_inheritable(self._pipe, False)

    def beat(self) -> None:
        """Call it from the event loop once per `HEARTBEAT_INTERVAL`."""
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError, BrokenPipeError):  # the supervisor is not reading
                os.write(self._pipe, b".")


def set_process_name(name: str) -> None:
    """Set the name in process listings; Linux cuts it to 15 bytes, other systems keep the program's."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
