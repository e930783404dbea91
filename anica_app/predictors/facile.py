"""Facile: the largest of analytical bounds over uiCA's data (Abel et al. 2023); called as uiCA is.

Its publication came with an artefact, not with a release: the program's arguments and what it prints are
options.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from anica_app.predictors.calling import Call, CalledTool, ToolSettings, digest_of, program_of
from anica_app.predictors.reading import CyclesPattern
from inference.core.tunables import setting

KIND = "facile"
INSTALL = "put the program of Facile's artefact into /opt/facile, or name its path"


@dataclass(frozen=True)
class FacileSettings(ToolSettings):
    """How Facile is called, and what it prints."""

    arch: str = setting("HSW", "architecture, -arch", "HSW")
    arguments: str = setting(
        "-raw -TPonly", "more arguments, behind the file with the block's bytes", "-raw -TPonly"
    )
    pattern: str = setting(r"(\d+(?:\.\d+)?)", "regular expression whose group is the number of cycles", None)
    unknown: str = setting(
        "[Nn]ot supported", "regular expression for an instruction that is not known", None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        CyclesPattern(self.pattern, unknown=self.unknown)


def find(given: str = "") -> str:
    """The path of Facile. Raises `PredictorError`."""
    return program_of(given, ("facile", "facile.py"), ("/opt/facile", "~/facile"), "Facile", INSTALL)


def make(settings: FacileSettings) -> CalledTool:
    """Facile as a predictor. Raises `PredictorError` where it is not installed."""
    program = find(settings.program)
    command = [program, "block", *shlex.split(settings.arguments), "-arch", settings.arch]
    return CalledTool(
        name=f"Facile · {settings.arch}",
        identity={
            "kind": KIND,
            "program": digest_of(program),
            "command": command[1:],
            "reading": [settings.pattern, settings.unknown],
            "seconds": settings.seconds,
        },
        call=lambda block: Call(command, files={"block": block}),
        reading=CyclesPattern(settings.pattern, unknown=settings.unknown),
        settings=settings,
        advice=INSTALL,
    )
