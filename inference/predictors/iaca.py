"""IACA 3.0, Intel's Architecture Code Analyzer: a file with the block between its markers (thesis §8.2.1)."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.tunables import choice
from inference.predictors.calling import MARKERS, Call, CalledTool, ToolSettings, digest_of, framed
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.tool_paths import ToolProgram

KIND = "iaca"
INSTALL = (
    "download IACA 3.0 from Intel (withdrawn; archives have it), put `iaca` into /opt/iaca or name its path"
)
TOOL = ToolProgram("IACA", INSTALL, ("iaca", "iaca.sh"), ("/opt/iaca", "/opt/iaca-lin64", "~/iaca"))
ARCHITECTURES = ("HSW", "BDW", "SKL", "SKX")

_READING = CyclesPattern(
    number=r"^Block Throughput: +(\d+(?:\.\d+)?)",
    unknown=r"^X - instruction not supported|unsupported instruction",
)


@dataclass(frozen=True)
class IacaSettings(ToolSettings):
    """The processor that IACA analyses for."""

    arch: str = choice("HSW", ARCHITECTURES, "architecture, -arch", "HSW")


def make(settings: IacaSettings) -> CalledTool:
    """IACA as a predictor. Raises `PredictorError` where it is not installed."""
    program = TOOL.path(settings.program)
    command = [program, "-arch", settings.arch, "block"]
    return CalledTool(
        name=f"IACA · {settings.arch}",
        identity={
            "kind": KIND,
            "program": digest_of(program),
            "arch": settings.arch,
            "seconds": settings.seconds,
        },
        call=lambda block: Call(command, files={"block": framed(block, MARKERS)}),
        reading=_READING,
        settings=settings,
        advice=INSTALL,
    )
