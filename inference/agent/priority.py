"""How soon a process gets the processor: said to both who share it out, where there are two.

Linux with autogroups first shares processors between sessions, and looks at the niceness of a process only
within its session: in a session of its own, niceness alone would change nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_SESSION = Path("/proc/self/autogroup")


def set_niceness(niceness: int) -> None:
    """Be so nice to other processes, and have the session be so too where this process leads it.

    Less than zero, which only root may, is to be served before others; without leave nothing happens.
    """
    with contextlib.suppress(PermissionError):
        os.nice(niceness)
    if os.getsid(0) == os.getpid():
        set_session_niceness(niceness)


def set_session_niceness(niceness: int) -> None:
    """Have this process's session be so nice to others; that of a process alone stays with its children."""
    with contextlib.suppress(OSError):  # no autogroups, no leave, or asked twice within a moment
        _SESSION.write_text(str(niceness))


def main() -> None:
    """`priority.py NICENESS PROGRAM ARGUMENT...`: become a program that is so nice from its first moment on.

    What starts takes a second or two of the processor before it could say so by itself.
    """
    set_niceness(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606  there is no shell, and a worker says what


if __name__ == "__main__":
    main()
