"""Foreign programs that may hang, crash, fork, print without end or eat memory, and still do no harm."""

from __future__ import annotations

from inference.containment.access import LIBRARIES, UNBOUNDED, FileAccess, access_of, places_of
from inference.containment.client import host
from inference.containment.limits import (
    METER,
    CannotStartError,
    Limits,
    ProgramMeter,
    WorkerError,
    WorkerSlowError,
    metered,
)
from inference.containment.running import CallOutcome, run
from inference.containment.workers import LineWorker

__all__ = [
    "LIBRARIES",
    "METER",
    "UNBOUNDED",
    "CallOutcome",
    "CannotStartError",
    "FileAccess",
    "Limits",
    "LineWorker",
    "ProgramMeter",
    "WorkerError",
    "WorkerSlowError",
    "access_of",
    "host",
    "metered",
    "places_of",
    "run",
]
