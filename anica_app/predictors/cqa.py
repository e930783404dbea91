"""CQA of MAQAO: analyses loops alone, so that each block is wrapped in one (thesis §8.2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from anica_app.predictors.calling import Call, CalledTool, ToolSettings, digest_of, program_of
from anica_app.predictors.forms import LOOP, OBJECT, content_of, surrounded
from anica_app.predictors.reading import Reading
from inference.core.errors import InvalidInputError
from inference.core.tunables import setting

KIND = "cqa"
INSTALL = "download MAQAO from www.maqao.org and put `maqao` on the PATH or into /opt/maqao/bin"

_READING = Reading(number=r"Overall L1: +(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class CqaSettings(ToolSettings):
    """Which processor CQA analyses for."""

    arch: str = setting("HASWELL", "architecture, --uarch; `maqao cqa --uarch=list` tells them", "HASWELL")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"\w+", self.arch):
            raise InvalidInputError(f"arch must be a name such as HASWELL, not {self.arch!r}")


def find(given: str = "") -> str:
    """The path of MAQAO. Raises `PredictorError`."""
    return program_of(given, ("maqao",), ("/opt/maqao/bin", "/opt/maqao"), "MAQAO", INSTALL)


def make(settings: CqaSettings) -> CalledTool:
    """CQA as a predictor. Raises `PredictorError` where MAQAO is not installed."""
    program = find(settings.program)
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
        call=lambda block: Call(command, files={"block.o": content_of(surrounded(block, LOOP), OBJECT)}),
        reading=_READING,
        settings=settings,
        advice=INSTALL,
    )
