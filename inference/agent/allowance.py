"""A rate limit for unsolicited messages of the other side."""

from __future__ import annotations

import time
from collections.abc import Callable

PER_SECOND = 20.0  # messages
BURST = 100.0  # messages


class Allowance:
    """Token bucket of `BURST` messages, refilled by `PER_SECOND` per second.

    Callers count unsolicited messages only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._available = BURST
        self._updated = clock()

    def allows(self) -> bool:
        """Count a message; False where it exceeds the limit."""
        now = self._clock()
        self._available = min(BURST, self._available + (now - self._updated) * PER_SECOND)
        self._updated = now
        if self._available < 1:
            return False
        self._available -= 1
        return True
