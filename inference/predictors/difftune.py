"""DiffTune: an llvm-mca whose scheduling parameters were learnt, read from a file (thesis §8.2.1)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from inference.core.protocols import Json
from inference.core.tunables import setting
from inference.predictors.calling import digest_of
from inference.predictors.llvm.mca import LlvmMca
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.llvm.releases import list_releases, release_of
from inference.predictors.permission import FILE
from inference.predictors.protocol import PredictorError
from inference.predictors.tool_paths import ToolProgram, check_file

KIND = "difftune"
INSTALL = (
    "build the llvm-mca of github.com/ithemal/DiffTune, put it at /opt/difftune/bin/llvm-mca or name its "
    "path, and name the file with its parameters"
)
TOOL = ToolProgram(
    "DiffTune", INSTALL, ("/opt/difftune/bin/llvm-mca", "llvm-mca-difftune", "difftune-llvm-mca")
)


@dataclass(frozen=True)
class DiffTuneSettings(McaSettings):
    """The settings of llvm-mca, with DiffTune's build as `program`."""

    parameters: str = setting(
        "", "path of the learnt parameters, -parameters", "of its authors", chooses=FILE
    )


class DiffTune(LlvmMca):
    """A predictor; blocks are disassembled by its own llvm-mc, else by the newest installed release.

    Raises:
        PredictorError: Where the build or its parameters are missing.
    """

    def __init__(self, settings: DiffTuneSettings) -> None:
        program = TOOL.path(settings.program)
        if not Path(settings.parameters).is_file():
            path = settings.parameters or "no path is given"
            raise PredictorError(f"DiffTune's parameters are not a file: {path}; {INSTALL}")
        check_file("parameters", settings.parameters, program, INSTALL)
        self._parameters = digest_of(settings.parameters)
        self._file = Path(settings.parameters).name
        shared = {option.name: getattr(settings, option.name) for option in fields(McaSettings)}
        assemblers = [release.mc for release in list_releases() if release.mc]
        sibling = Path(program).with_name("llvm-mc")
        mc = str(sibling) if sibling.is_file() else next(reversed(assemblers), "")
        self._program = digest_of(program)
        self._assembly = digest_of(mc) if mc else ""
        super().__init__(
            McaSettings(**{**shared, "program": program}),
            release=release_of(program),
            mc=mc,
            extra=("-parameters", settings.parameters),
        )

    @property
    def name(self) -> str:
        """E.g. `DiffTune · haswell · parameters.txt`."""
        return f"DiffTune · {super().name.partition(' · ')[2]} · {self._file}"

    @property
    def identity(self) -> Json:
        return {
            **super().identity,
            "kind": KIND,
            "program": self._program,
            "assembly": self._assembly,
            "parameters": self._parameters,
        }
