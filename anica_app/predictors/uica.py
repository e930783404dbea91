"""uiCA, the uops.info Code Analyzer: simulates recent Intel processors from measured data (thesis §8.2.1).

Its full output is read, not that of -TPonly, because only the table says which instruction uiCA does not
know: such a block has a number as well, in which the instruction is free of cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from anica_app.predictors.calling import Call, CalledTool, ToolSettings, digest_of, program_of
from anica_app.predictors.forms import AROUND, LOOP, choice, surrounded
from anica_app.predictors.reading import CyclesPattern

KIND = "uica"
INSTALL = "git clone https://github.com/andreas-abel/uiCA /opt/uiCA && cd /opt/uiCA && ./setup.sh"
ARCHITECTURES = ("SNB", "IVB", "HSW", "BDW", "SKL", "SKX", "KBL", "CFL", "CLX", "ICL", "TGL", "RKL")

_READING = CyclesPattern(
    number=r"^Throughput \(in cycles per iteration\): +(\d+(?:\.\d+)?)\s*$",
    unknown=r"X - Instruction not supported",
)


@dataclass(frozen=True)
class UicaSettings(ToolSettings):
    """Which processor uiCA simulates."""

    arch: str = choice("HSW", ARCHITECTURES, "architecture, -arch", "HSW")
    around: str = choice(
        "nothing", AROUND[:2], "nothing: copies in a row; loop: the block in a loop", "nothing"
    )
    init: str = choice(
        "diff", ("diff", "same", "stack"), "values that registers start with, -initPolicy", "diff"
    )


def find(given: str = "") -> str:
    """The path of uiCA.py. Raises `PredictorError`."""
    return program_of(given, ("uiCA.py", "uica"), ("/opt/uiCA", "~/uiCA"), "uiCA", INSTALL)


def make(settings: UicaSettings) -> CalledTool:
    """uiCA as a predictor. Raises `PredictorError` where it is not installed."""
    program = find(settings.program)
    command = [program, "block", "-raw", "-arch", settings.arch, "-initPolicy", settings.init]
    return CalledTool(
        name=f"uiCA · {settings.arch}" + (", in a loop" if settings.around == LOOP else ""),
        identity={
            "kind": KIND,
            "program": digest_of(program),
            "arch": settings.arch,
            "around": settings.around,
            "init": settings.init,
            "seconds": settings.seconds,
        },
        call=lambda block: Call(command, files={"block": surrounded(block, settings.around)}),
        reading=_READING,
        settings=settings,
        advice=f"uiCA needs the data and the decoder that its set-up makes: {INSTALL}",
    )
