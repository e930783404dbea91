"""Until when a search computes, and until when it may still put its result together."""

from __future__ import annotations

import time

_ENDING = 0.05
"""Share of a part's time for its end: a mapping by local search, alternatives with matching port names."""


class Deadline:
    """Shares `limit` CPU seconds among the parts of a search; a limit of 0 is none."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._began = time.process_time()
        self.share(1)

    def share(self, parts: int) -> None:
        """Allow the part that begins an equal share of what is left for so many parts."""
        spent = self._spent
        seconds = max(0.0, self.limit - spent) / parts
        self._end = spent + seconds
        self._until = spent + seconds * (1 - _ENDING)

    def end(self) -> None:
        """Allow the part that was interrupted the time that is kept for its end."""
        self._until = self._end

    @property
    def left(self) -> float:
        """Seconds until the part is interrupted."""
        return self._until - self._spent

    @property
    def is_over(self) -> bool:
        """Whether the part has no time left."""
        return self.limit > 0 and self.left <= 0

    @property
    def _spent(self) -> float:
        return time.process_time() - self._began
