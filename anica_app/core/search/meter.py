"""How much a campaign has asked and how long it took, over all its attempts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from inference.predictors.panel import Panel

_WINDOW = 10.0  # seconds over which the rate is taken


class Meter:
    """Counts what a panel has judged since it was last asked, and measures time."""

    def __init__(self, panel: Panel, clock: Callable[[], float]) -> None:
        self._panel = panel
        self._clock = clock
        self._before = 0.0
        self._begun = clock()
        self._judged = 0
        self._failures: Counter[tuple[int, str]] = Counter()
        self._recent: deque[tuple[float, int]] = deque()

    def start(self, before: float) -> None:
        """Begin to measure; earlier attempts took so many seconds.

        What the panel has judged up to now is not counted: it was before, or, as for the schemes that are
        supported, belongs to no search.
        """
        self.taken()
        self._before = before
        self._begun = self._clock()

    def seconds(self) -> float:
        """Of searching, over all attempts."""
        return self._before + self._clock() - self._begun

    def untaken(self) -> int:
        return self._panel.judged - self._judged

    def taken(self) -> tuple[int, Counter[str]]:
        """Blocks judged, and failures by words, since this was last called."""
        judged, failures = self.untaken(), self._panel.failures - self._failures
        self._judged, self._failures = self._panel.judged, Counter(self._panel.failures)
        words = {f"{failure} of {number}": count for (number, failure), count in failures.items()}
        return judged, Counter(words)

    def rate(self) -> float:
        """Blocks judged per second lately."""
        now = self._clock()
        self._recent.append((now, self._panel.judged))
        while len(self._recent) > 2 and self._recent[1][0] < now - _WINDOW:
            self._recent.popleft()
        then, judged = self._recent[0]
        return (self._panel.judged - judged) / (now - then) if now > then else 0.0
