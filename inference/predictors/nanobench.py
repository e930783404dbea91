"""nanoBench: measures on this computer with performance counters; the least of several runs counts.

It needs the rights to use the counters, so of all programs only this one runs with those of this user, or
with what its prefix gives it. Nothing else may run beside it: all processes of this user take turns, and each
measures one block at a time.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inference.containment import UNBOUNDED
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import check_integer, setting
from inference.predictors.calling import INTEL, Call, CalledTool, ToolSettings, digest_of, line_of
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.permission import COMMAND, FILE
from inference.predictors.protocol import Answer, PredictorError
from inference.predictors.tool_paths import ToolProgram, check_file, executables

KIND = "nanobench"
INSTALL = (
    "git clone https://github.com/andreas-abel/nanoBench /opt/nanoBench && cd /opt/nanoBench && make user; "
    "it runs as root alone, and needs msr-tools; on AMD name a file of its configs"
)
_SCRIPT = ToolProgram("nanoBench", INSTALL, ("nanoBench.sh",), ("/opt/nanoBench", "~/nanoBench"))

ROUNDS = 1000
"""Rounds of a loop, where blocks are measured in one: the code before and after it is then below 0.1 %."""

_READING = CyclesPattern(
    number=r"^(?:CORE_CYCLES|LsNotHaltedCyc|Core cycles): +(\d+(?:\.\d+)?)",
    unknown=r"[Ii]llegal instruction|invalid instruction|Error: no such instruction",
)
"""The counter as in its configurations for Intel and AMD, and as Intel's fixed counters are printed."""


@dataclass(frozen=True)
class NanoBenchSettings(ToolSettings):
    program: str = setting(
        "", "path of the program; empty: where its installation puts it", None, chooses=COMMAND
    )
    prefix: str = setting("", "what gives it its rights, such as `sudo -n`", "sudo", chooses=COMMAND)
    config: str = setting(
        "",
        "path of a file of its configs that counts core cycles, -config; empty: -fixed_counters, on Intel",
        "cfg_Skylake_common.txt",
        chooses=FILE,
    )
    unroll: int = setting(100, "copies of the block in a row, -unroll_count", None)
    loop: int = setting(0, "rounds of a loop over them, -loop_count; 0: no loop", None)
    warm_up: int = setting(5, "runs before those that count, -warm_up_count", None)
    samples: int = setting(3, "calls, of which the least counts", None)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, minimum, maximum in (
            ("unroll", 1, 10_000),
            ("loop", 0, 10**6),
            ("warm_up", 0, 1000),
            ("samples", 1, 100),
        ):
            check_integer(name, getattr(self, name), minimum, maximum)
        if self.config and not Path(self.config).is_absolute():
            raise InvalidInputError(f"config must be an absolute path, not {self.config!r}")


class NanoBench:
    """A predictor that measures; see the module. Raises `PredictorError` where it is not installed."""

    def __init__(self, settings: NanoBenchSettings) -> None:
        self._samples = settings.samples
        program = find(settings.program)
        if settings.config:
            check_file("config", settings.config, program, INSTALL)
        command = [*_prefix(settings.prefix), program, "-unroll_count", str(settings.unroll)]
        command += ["-loop_count", str(settings.loop), "-warm_up_count", str(settings.warm_up)]
        command += ["-config", settings.config] if settings.config else ["-fixed_counters"]
        home = str(Path(program).parent)
        self._tool = CalledTool(
            name=f"nanoBench · {settings.loop}×{settings.unroll}"
            if settings.loop
            else f"nanoBench · {settings.unroll}",
            identity={
                "kind": KIND,
                "program": digest_of(program),
                "computer": os.uname().nodename,
                "config": digest_of(settings.config) if settings.config else "",
                "counts": [settings.unroll, settings.loop, settings.warm_up, settings.samples],
                "seconds": settings.seconds,
            },
            call=lambda block: Call([*command, "-asm", line_of(block, INTEL)], elsewhere=home),
            reading=_READING,
            settings=settings,
            advice=INSTALL,
            access=UNBOUNDED,
        )

    @property
    def name(self) -> str:
        return self._tool.name

    @property
    def identity(self) -> Json:
        """What changes its answers, the computer included."""
        return self._tool.identity

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """See `inference.predictors.protocol.Predictor`; one block after another."""
        results = []
        with _exclusive_lock():
            self._tool.check()
            for block in blocks:
                answers = [self._tool.answer(block) for _ in range(self._samples)]
                cycles = [answer.cycles for answer in answers if answer.cycles is not None]
                results.append(Answer(cycles=min(cycles)) if cycles else answers[0])
        return results

    def close(self) -> None:
        self._tool.close()


def find(requested: str = "") -> str:
    """The path of nanoBench.sh. Raises `PredictorError`."""
    if not requested:
        return _SCRIPT.path()
    if not executables((requested,)):
        raise PredictorError(f"nanoBench is not here at {requested}: {INSTALL}")
    return requested


def _prefix(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PredictorError(f"prefix must be a list of words: {error}") from error
    if not words:
        return []
    program = ToolProgram(words[0], "install it, or leave the prefix empty", words[:1])
    return [program.path(), *words[1:]]


@contextmanager
def _exclusive_lock() -> Iterator[None]:
    """A lock that processes of this user hold while they measure with nanoBench."""
    path = Path(tempfile.gettempdir()) / f"pmweb-nanobench-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
