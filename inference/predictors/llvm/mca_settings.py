"""Settings of llvm-mca: its program, the simulated processor, and how cycles are counted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inference.core.errors import InvalidInputError
from inference.core.tunables import check_choices, check_integer, check_number, choice, setting
from inference.predictors.permission import ARGUMENTS, PROGRAM
from inference.predictors.processor_names import check_name

RATE, TOTAL = "rate", "total"
LONGER = 4
"""Factor between the lengths of the two simulations of a rate."""

_OURS = (
    "iterations",
    "mcpu",
    "mtriple",
    "march",
    "json",
    "o",
    "skip-unsupported-instructions",
    "help",
    "version",
)
_SIMULATION = (
    r"--?(?:call-latency|decoder-throughput|disable-cb|dispatch|lqueue|mattr|micro-op-queue-size|noalias"
    r"|register-file-size|squeue)(?:=[\w.,+-]*)?"
)
"""Flags that configure the simulation, and name no file."""

_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(=[\w.,+/-]*)?")


@dataclass(frozen=True)
class McaSettings:
    """Which llvm-mca simulates which processor, and how its cycles are counted."""

    program: str = setting("", "path of an llvm-mca; empty: of the release below", None, chooses=PROGRAM)
    release: str = setting("", "major version, such as 19; empty: the newest that is installed", "13")
    cpu: str = setting(
        "haswell", "processor that is simulated, -mcpu; llvm-mca -mcpu=help lists them", "haswell"
    )
    flags: str = setting(
        "", "more options of llvm-mca, such as -noalias=false", "", chooses=ARGUMENTS, harmless=_SIMULATION
    )
    counting: str = choice(
        RATE,
        (RATE, TOTAL),
        "rate: cycles that further iterations take, the steady state; total: all cycles by all iterations, "
        "as published comparisons count, which has the first latency in it",
        TOTAL,
    )
    iterations: int = setting(80, "iterations that are simulated; for rate a multiple of 4", 100)
    batch: int = setting(250, "blocks per process", 1)
    processes: int = setting(0, "processes at a time; 0: one per processor", 20)
    seconds: float = setting(20.0, "time for one process", 10)
    memory: int = setting(4096, "MiB of addresses for one process", None)

    def __post_init__(self) -> None:
        check_choices(self)
        check_integer("iterations", self.iterations, 1, 100_000)
        check_integer("batch", self.batch, 1, 1000)
        check_integer("processes", self.processes, 0, 1024)
        check_number("seconds", self.seconds, 0.1, 3600)
        check_integer("memory", self.memory, 256, 1 << 20)
        if self.counting == RATE and self.iterations % LONGER:
            raise InvalidInputError(
                f"iterations must be a multiple of {LONGER} where a rate is counted, not {self.iterations}"
            )
        check_name("cpu", self.cpu)
        if self.cpu in ("native", "help"):
            raise InvalidInputError(f"cpu must be the name of a processor such as haswell, not {self.cpu!r}")
        if not re.fullmatch(r"\d*", self.release):
            raise InvalidInputError(f"release must be a major version such as 19, not {self.release!r}")
        for word in self.flags.split():
            flag = _FLAG.fullmatch(word)
            if flag is None:
                raise InvalidInputError(f"flags are written like -noalias=false, not {word[:60]!r}")
            if flag.group(1) in _OURS:
                raise InvalidInputError(
                    f"-{flag.group(1)} is set by the program itself: leave it out of flags"
                )
