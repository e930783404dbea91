"""How much of this computer a foreign program may take, what it took, and what goes wrong besides.

OSError
└── CannotStartError   the program is missing, no program, or not allowed
RuntimeError
└── WorkerError        a warm worker has ended or talks nonsense
    └── WorkerSlowError   it did not answer in time

A program is a child of the process that starts it (`sandbox.starter`), so no clock of ours counts its
processor time: a `ProgramMeter` does, for the work that it is started for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_RANGES = (
    ("seconds", 0.01, 24 * 3600),
    ("memory", 16, 1 << 20),
    ("output", 1, 4096),
    ("processes", 1, 100_000),
    ("open_files", 8, 100_000),
)


@dataclass(frozen=True)
class Limits:
    """`seconds` by the clock and of CPU time for one call; `memory` of addresses and `output` in MiB.

    `processes`: how many processes and threads it may start, on top of those that its user has; the kernel
    does not hold root to it. `open_files` at a time. Raises `ValueError` for what is no limit.
    """

    seconds: float = 10.0
    memory: int = 4096
    output: int = 64
    processes: int = 256
    open_files: int = 1024

    def __post_init__(self) -> None:
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} must be from {least:g} to {most:g}, not {value!r}")

    def of_the_kernel(self, *, endless: bool = False) -> dict[str, int]:
        """As the starter sets them; `endless` for a worker, whose CPU time counts per answer."""
        found = {
            "address_space": self.memory << 20,
            "file_bytes": self.output << 20,
            "processes": _already_running() + self.processes,
            "open_files": self.open_files,
        }
        return found if endless else {**found, "cpu_seconds": int(self.seconds) + 1}


@cache
def _already_running() -> int:
    """Threads of this user at the moment: the kernel's limit counts them all."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/task/*"):
        try:
            found += status.stat().st_uid == os.getuid()
        except OSError:
            continue
    return found


class CannotStartError(OSError):
    """A program cannot be started; the text names it and says why."""


class WorkerError(RuntimeError):
    """A worker that was kept running has gone; the text says what it complained of."""


class WorkerSlowError(WorkerError):
    """A worker did not answer in its time, and was ended."""


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
