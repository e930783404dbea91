"""How far the reading of a long file is, told to the page of its run."""

from __future__ import annotations

import time
from collections.abc import Callable

from inference.core.events import Progress
from inference.runs.kinds import Task

_EVERY = 0.3  # seconds between two words about progress


def telling(task: Task, unit: str) -> Callable[[int, int], None]:
    """Tells the run's page how far reading is, a few times a second, and hears the wish to stop."""
    started = last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        task.reporter.pulse()
        if now - last >= _EVERY:
            last = now
            rate = done / max(now - started, 1e-9)
            eta = (total - done) / rate if rate else None
            task.reporter.emit(Progress("read", done, total, rate, unit, eta))

    return tell
