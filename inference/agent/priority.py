"""Sets the niceness of a process and of its session.

Linux with autogroups distributes processors between sessions first, and uses the niceness of a process only
within its session: in a session of its own, the process's niceness alone has no effect.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_SESSION = Path("/proc/self/autogroup")


def set_niceness(niceness: int) -> None:
    """Set the niceness of this process, and of its session where it leads it.

    Values below zero need root; without permission nothing happens.
    """
    with contextlib.suppress(PermissionError):
        os.nice(niceness)
    if os.getsid(0) == os.getpid():
        set_session_niceness(niceness)


def set_session_niceness(niceness: int) -> None:
    """Set the niceness of this process's session; does nothing without autogroups or permission."""
    with contextlib.suppress(OSError):  # no autogroups, no leave, or asked twice within a moment
        _SESSION.write_text(str(niceness))


def main() -> None:
    """`priority.py NICENESS PROGRAM ARGUMENT...`: execute a program with a niceness from its beginning.

    A program that sets it by itself has used the processor for a second or two by then.
    """
    set_niceness(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606  there is no shell, and a worker says what


if __name__ == "__main__":
    main()
