"""Limits of a foreign program, the CPU time it used, and the errors of running one.

OSError
└── CannotStartError   the program is missing, no program, or not allowed
RuntimeError
└── WorkerError        a loaded worker has ended or answers nonsense
    └── WorkerSlowError   it did not answer in time

A program is a child of the process that starts it (`sandbox.starter`), so clocks of this process do not
include its processor time: a `ProgramMeter` counts it.
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
    """Limits of one call: `seconds` of wall-clock and of CPU time; `memory` (addresses) and `output` in
    MiB.

    Raises `ValueError` for a value out of range.

    Attributes:
        processes: Further processes and threads beside those that its user has; the kernel does not apply
            it to root.
        open_files: At the same time.
    """

    seconds: float = 10.0
    memory: int = 4096
    output: int = 64
    processes: int = 256
    open_files: int = 1024

    def __post_init__(self) -> None:
        for name, minimum, maximum in _RANGES:
            value = getattr(self, name)
            if not minimum <= value <= maximum:
                raise ValueError(f"{name} must be from {minimum:g} to {maximum:g}, not {value!r}")

    def as_kernel_limits(self, *, unbounded_cpu: bool = False) -> dict[str, int]:
        """The limits as the starter sets them, in bytes and seconds.

        `unbounded_cpu`: without a limit of CPU time, for a worker whose limit counts per answer.
        """
        kernel_limits = {
            "address_space": self.memory << 20,
            "file_bytes": self.output << 20,
            "processes": _threads_of_user() + self.processes,
            "open_files": self.open_files,
        }
        return kernel_limits if unbounded_cpu else {**kernel_limits, "cpu_seconds": int(self.seconds) + 1}


@cache
def _threads_of_user() -> int:
    """The threads of this user at the moment; RLIMIT_NPROC counts all of them."""
    threads = 0
    for status in Path("/proc").glob("[0-9]*/task/*"):
        try:
            threads += status.stat().st_uid == os.getuid()
        except OSError:
            continue
    return threads


class CannotStartError(OSError):
    """A program cannot be started; the message names it and the reason."""


class WorkerError(RuntimeError):
    """A loaded worker has ended or answers nonsense; the message has its last line on standard error."""


class WorkerSlowError(WorkerError):
    """A worker did not answer in time and was killed."""


@dataclass
class ProgramMeter:
    """CPU `seconds` of the programs that have ended."""

    seconds: float = 0.0


METER: ContextVar[ProgramMeter | None] = ContextVar("program_meter", default=None)
"""The meter of the programs that this thread starts. A thread pool passes it on by its initializer."""


@contextmanager
def metered() -> Iterator[ProgramMeter]:
    """Count the CPU time of programs that this thread starts while the context lasts."""
    meter = ProgramMeter()
    token = METER.set(meter)
    try:
        yield meter
    finally:
        METER.reset(token)
