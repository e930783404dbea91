"""Foreign programs that may hang, crash, fork, print without end or eat memory, and still do no harm."""

from __future__ import annotations

from inference.containment.access import LIBRARIES, UNBOUNDED, Access, access_of, places_of
from inference.containment.client import host
from inference.containment.limits import CannotStartError, Limits, WorkerError, WorkerSlowError
from inference.containment.running import Outcome, run
from inference.containment.workers import LineWorker

__all__ = [
    "LIBRARIES",
    "UNBOUNDED",
    "Access",
    "CannotStartError",
    "Limits",
    "LineWorker",
    "Outcome",
    "WorkerError",
    "WorkerSlowError",
    "access_of",
    "host",
    "places_of",
    "run",
]
