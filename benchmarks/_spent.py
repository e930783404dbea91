"""CPU time of this process and of everything that it has started, however indirectly."""

from __future__ import annotations

import os
from pathlib import Path

from tests.launched import descendants

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Of this process, its descendants that live, and those of theirs that have been waited for."""
    ticks = 0
    for pid in (os.getpid(), *descendants(os.getpid())):
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        ticks += sum(map(int, words[11:15]))  # own and waited for, user and system
    return ticks / _TICKS
