"""Runs foreign programs that may hang, crash, fork, print endlessly or exhaust memory, and confines them.

Callers use `run` for one call and `LineWorker` for a program that stays loaded. What a process gives up to be
confined is in `inference.sandbox`.
"""

from __future__ import annotations

from inference.containment.access import LIBRARIES, UNBOUNDED, FileAccess, access_of, program_paths
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
    "program_paths",
    "run",
]
