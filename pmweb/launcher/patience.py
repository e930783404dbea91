"""How long the web process waits for visitors: for a body to come, and for an answer to be read."""

from __future__ import annotations

import math

from django.conf import settings


class Patience:
    """With somebody of whom `settings.BYTES_PER_SECOND` are expected on average, who may pause for
    `settings.STALL_SECONDS` at most, and has to be done by `end`.
    """

    def __init__(self, now: float, end: float = math.inf) -> None:
        self.moved = now
        """When bytes came last."""
        self._end = end
        self._until = now + settings.STALL_SECONDS

    def note(self, count: int, now: float) -> None:
        """So many bytes have come, or have been read."""
        self.moved = now
        self._until = min(self._until + count / settings.BYTES_PER_SECOND, now + settings.STALL_SECONDS)

    def is_over(self, now: float) -> bool:
        """Whether it is time to part."""
        return now > min(self._until, self._end)
