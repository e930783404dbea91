"""A pulse that tells how far a stage is, for stages whose steps are short and whose ends are far apart."""

from __future__ import annotations

from collections.abc import Callable

from inference.core.events import Log
from inference.core.pacing import PacedReporter

TELL_EVERY = 10.0
"""Seconds after which a reader should hear something new."""


def heartbeat(pace: PacedReporter, what: str) -> Callable[[], None]:
    """The reporter's pulse, which counts its calls and tells of them: `1,200 schemes re-fitted`."""
    steps = 0

    def beat() -> None:
        nonlocal steps
        pace.pulse()
        steps += 1
        if pace.due(what, TELL_EVERY) and steps > 1:
            pace.emit(Log("info", f"{steps:,} {what}"))

    return beat
