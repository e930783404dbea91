"""Whether the time of day tells who has been silent: not just after the clock was set.

A lease ends at a time of day. When an administrator or a time service sets the clock, or a computer wakes
from sleep, all leases seem to have ended, those of holders that are well too.
"""

from __future__ import annotations

import time

from inference.runs.journal import LEASE_TIME

_NOTICED = 1.0  # seconds from one look to the next; a lease bears what is less


class Clock:
    """Compares the time of day with the clock that nobody sets."""

    def __init__(self) -> None:
        self._ahead = _ahead()
        self._set = -float("inf")

    def is_settled(self) -> bool:
        """Whether every living holder has had the time to renew its lease since the clock was set."""
        now, ahead = time.monotonic(), _ahead()
        if abs(ahead - self._ahead) > _NOTICED:
            self._set = now
        self._ahead = ahead
        return now - self._set > LEASE_TIME.total_seconds()


def _ahead() -> float:
    """Seconds from a clock that stands still while the computer sleeps to the time of day."""
    return time.time() - time.monotonic()
