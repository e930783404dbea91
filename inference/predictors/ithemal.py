"""Ithemal, a neural network: cycles for a hundred executions of a block (thesis §8.2.1).

Its program `predict.py` loads the model anew for each block. Where that is too slow, a service that keeps the
model loaded is a command that answers lines (`command`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inference.containment import access_of
from inference.core.tunables import setting
from inference.predictors.calling import MARKERS, Call, CalledTool, ToolSettings, digest_of, framed
from inference.predictors.cycles_pattern import CyclesPattern
from inference.predictors.permission import FILE, PROGRAM
from inference.predictors.protocol import PredictorError
from inference.predictors.tool_paths import ToolProgram, check_file, check_program, pythons

KIND = "ithemal"
INSTALL = (
    "install Ithemal (github.com/ithemal/Ithemal, with its models), name the Python it runs with, its "
    "predict.py, its predictor.dump and its trained .mdl"
)
TOOL = ToolProgram(
    "Ithemal",
    INSTALL,
    ("ithemal-predict",),
    ("/home/ithemal/ithemal/learning/pytorch/ithemal", "/opt/ithemal/learning/pytorch/ithemal"),
)
PER_BLOCK = 0.01
"""It predicts a hundred executions."""

_DEPTH = 3
"""Directories between predict.py and the root of its repository."""

_READING = CyclesPattern(
    number=r"^\s*(?:Prediction:? *)?(\d+(?:\.\d+)?)\s*$", scale=PER_BLOCK, unknown=r"Tokenize failed"
)


@dataclass(frozen=True)
class IthemalSettings(ToolSettings):
    """Paths of Ithemal's parts; `program` is predict.py."""

    python: str = setting(
        "",
        "path of the Python that has Ithemal's libraries; empty: predict.py runs by itself",
        None,
        chooses=PROGRAM,
    )
    model: str = setting("", "path of predictor.dump, --model", None, chooses=FILE)
    data: str = setting("", "path of the trained model, --model-data", "BHive Haswell", chooses=FILE)
    seconds: float = setting(60.0, "time for one block, in which the model is loaded", 10)
    memory: int = setting(16384, "MiB of addresses for one call", None)


def make(settings: IthemalSettings) -> CalledTool:
    """Ithemal as a predictor. Raises `PredictorError` where a part is missing."""
    program = TOOL.path(settings.program)
    for name, path in (("model", settings.model), ("data", settings.data)):
        if not Path(path).is_file():
            raise PredictorError(f"Ithemal's {name} is not a file: {path or 'no path is given'}; {INSTALL}")
        check_file(name, path, program, INSTALL)
    start = [program]
    if settings.python:
        start = [check_program("python", settings.python, pythons(), INSTALL), program]
    environment = _environment(program)
    command = [
        *start,
        "--verbose",
        "--model",
        settings.model,
        "--model-data",
        settings.data,
        "--files",
        "block",
    ]
    return CalledTool(
        name=f"Ithemal · {Path(settings.data).stem}",
        identity={
            "kind": KIND,
            "program": digest_of(program),
            "model": [digest_of(settings.model), digest_of(settings.data)],
            "seconds": settings.seconds,
        },
        call=lambda block: Call(command, files={"block": framed(block, MARKERS)}, environment=environment),
        reading=_READING,
        settings=settings,
        advice=INSTALL,
        access=access_of(command, program),
    )


def _environment(program: str) -> dict[str, str]:
    """Environment variables for predict.py, which lies in learning/pytorch/ithemal of its repository."""
    home = Path(program).parents
    if len(home) <= _DEPTH:
        return {}
    parts = home[_DEPTH]
    libraries = (parts / "learning" / "pytorch", parts / "common")
    return {"ITHEMAL_HOME": str(parts), "PYTHONPATH": ":".join(map(str, libraries))}
