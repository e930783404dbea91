"""A pulse that logs progress, for long stages of short steps."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.events import Log
from inference.core.pacing import PacedReporter

EMIT_INTERVAL = 10.0
"""Seconds between two lines of the log."""


def heartbeat(pace: PacedReporter, counted_steps: str) -> Callable[[], None]:
    """The reporter's pulse, which counts its calls and logs them, e.g. `1,200 schemes re-fitted`."""
    steps = 0

    def beat() -> None:
        nonlocal steps
        pace.pulse()
        steps += 1
        if pace.due(counted_steps, EMIT_INTERVAL) and steps > 1:
            pace.emit(Log("info", f"{steps:,} {counted_steps}"))

    return beat
