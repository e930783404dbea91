"""How many messages the other side may send that nothing asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

PER_SECOND = 20.0
BURST = 100.0


class Allowance:
    """`AT_ONCE` messages, and `PER_SECOND` more every second; answers to what was sent are not counted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._available = BURST
        self._updated = clock()

    def allows(self) -> bool:
        """Count one message; False where it is one too many."""
        now = self._clock()
        self._available = min(BURST, self._available + (now - self._updated) * PER_SECOND)
        self._updated = now
        if self._available < 1:
            return False
        self._available -= 1
        return True
