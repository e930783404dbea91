"""Foreign programs that may hang, crash, fork, print without end or eat memory, and still do no harm."""

from __future__ import annotations

from anica_app.predictors.containment.errors import CannotStartError, WorkerError, WorkerSlowError
from anica_app.predictors.containment.limits import Limits
from anica_app.predictors.containment.running import Outcome, run
from anica_app.predictors.containment.workers import LineWorker

__all__ = [
    "CannotStartError",
    "Limits",
    "LineWorker",
    "Outcome",
    "WorkerError",
    "WorkerSlowError",
    "run",
]
