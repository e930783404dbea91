"""What goes wrong with a foreign program before it has said anything of its own.

OSError
└── CannotStartError   the program is missing, no program, or not allowed
RuntimeError
└── WorkerError        a warm worker has ended or talks nonsense
    └── WorkerSlowError   it did not answer in time
"""

from __future__ import annotations


class CannotStartError(OSError):
    """A program cannot be started; the text names it and says why."""


class WorkerError(RuntimeError):
    """A worker that was kept running has gone; the text says what it complained of."""


class WorkerSlowError(WorkerError):
    """A worker did not answer in its time, and was ended."""
