"""Foreign programs that may hang, crash, fork, print without end or eat memory, and still do no harm."""

from __future__ import annotations

from inference.containment.access import LIBRARIES, UNBOUNDED, Access, access_of, places_of
from inference.containment.client import host
from inference.containment.errors import CannotStartError, WorkerError, WorkerSlowError
from inference.containment.limits import Limits
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
