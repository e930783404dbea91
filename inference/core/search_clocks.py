"""Clocks for the time limits of searches. They stand still while inner loops are compiled.

Compiling takes half a minute, once per installation, in whichever search comes first: counted, it would end
that search with a worse result than every later one.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class SearchClock:
    """Seconds of another clock, without those between `stop` and `start`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._standing = 0.0  # seconds of all stops that are over
        self._stopped_at: float | None = None

    def __call__(self) -> float:
        now = self._clock() if self._stopped_at is None else self._stopped_at
        return now - self._standing

    def stop(self) -> None:
        self._stopped_at = self._clock()

    def start(self) -> None:
        if self._stopped_at is not None:
            self._standing += self._clock() - self._stopped_at
        self._stopped_at = None


computing_seconds = SearchClock(time.process_time)
"""CPU seconds of this process: limits by it do not depend on how busy the computer is."""

elapsed_seconds = SearchClock(time.monotonic)
