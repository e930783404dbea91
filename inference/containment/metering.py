"""The processor time of programs, counted for the work that they are started for.

A program is a child of the process that starts it (`sandbox.starter`), so no clock of ours counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class ProgramMeter:
    """CPU `seconds` of the programs that have ended."""

    seconds: float = 0.0


METER: ContextVar[ProgramMeter | None] = ContextVar("program_meter", default=None)
"""What programs count for that this thread starts. A pool of threads gets it by its initializer."""


@contextmanager
def metered() -> Iterator[ProgramMeter]:
    """While this lasts, programs that this thread starts count for the meter."""
    meter = ProgramMeter()
    token = METER.set(meter)
    try:
        yield meter
    finally:
        METER.reset(token)
