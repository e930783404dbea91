"""CQA of MAQAO: analyses loops alone, so that each block is wrapped in one (thesis §8.2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from inference.containment import CannotStartError, Limits, run
from inference.core.tunables import setting
from inference.predictors.calling import (
    LOOP,
    OBJECT,
    Call,
    CalledTool,
    ToolSettings,
    content_of,
    digest_of,
    framed,
)
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.processor_names import check_name, unknown_processor
from inference.predictors.protocol import PredictorError
from inference.predictors.tool_paths import ToolProgram

KIND = "cqa"
INSTALL = "download MAQAO from www.maqao.org and put `maqao` on the PATH or into /opt/maqao/bin"
TOOL = ToolProgram("MAQAO", INSTALL, ("maqao",), ("/opt/maqao/bin", "/opt/maqao"))

_READING = CyclesPattern(number=r"Overall L1: +(\d+(?:\.\d+)?)")
"""Cycles per iteration with all data in the L1 cache."""

_DEFAULT = "HASWELL"
_LISTED = re.compile(r"^[^\w\n]*([A-Z][A-Z0-9_]{2,})\b", re.MULTILINE)  # a name at the beginning of a line


@dataclass(frozen=True)
class CqaSettings(ToolSettings):
    """The processor that CQA analyses for."""

    arch: str = setting(_DEFAULT, "architecture, --uarch; `maqao cqa --uarch=list` lists them", "HASWELL")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("arch", self.arch)


def make(settings: CqaSettings) -> CalledTool:
    """CQA as a predictor. Raises `PredictorError` where MAQAO is not installed or lacks the processor."""
    program = TOOL.path(settings.program)
    architectures = _architectures(program, digest_of(program))
    if _DEFAULT in architectures and settings.arch not in architectures:  # without it, it was no list
        raise PredictorError(unknown_processor("arch", "CQA", settings.arch, architectures))
    command = [
        program,
        "cqa",
        f"--uarch={settings.arch}",
        "--fct-loops=.*",
        "--confidence-levels=expert",
        "block.o",
    ]
    return CalledTool(
        name=f"CQA · {settings.arch}",
        identity={
            "kind": KIND,
            "program": digest_of(program),
            "arch": settings.arch,
            "seconds": settings.seconds,
        },
        call=lambda block: Call(command, files={"block.o": content_of(framed(block, LOOP), OBJECT)}),
        reading=_READING,
        settings=settings,
        advice=INSTALL,
    )


@lru_cache(maxsize=16)
def _architectures(program: str, _content: str) -> tuple[str, ...]:
    """The architectures that MAQAO lists; () where it does not."""
    try:
        listing = run([program, "cqa", "--uarch=list"], limits=Limits(seconds=10.0, output=1))
    except CannotStartError:
        return ()
    return tuple(dict.fromkeys(_LISTED.findall(listing.stdout.decode(errors="replace"))))
