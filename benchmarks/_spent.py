"""CPU time of this process and of everything that it has started, however indirectly."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Of this process, its descendants that live, and those of theirs that have been waited for."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        parents[int(entry.name)] = int(words[1])
        spent[int(entry.name)] = sum(map(int, words[11:15])) / _TICKS  # own and waited for, user and system
    return sum(seconds for pid, seconds in spent.items() if _descends(pid, parents))


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = parents.get(pid, 0)
    return False
