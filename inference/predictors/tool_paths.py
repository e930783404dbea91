"""Where the programs and files of a tool may lie: where the site finds it, or where the operator allows.

A path that a user chooses is compared with these without its links. The path that was found is then run, so
that a link that is replaced afterwards has no effect.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.containment import program_paths
from inference.containment.access import READ_VARIABLE, operator_read_directories
from inference.predictors.protocol import PredictorError

_PYTHONS = ("python3", "python", *(f"python3.{minor}" for minor in range(6, 30)))
"""Names under which tools may look for an interpreter."""


def executables(names: Iterable[str], places: Iterable[str] = ()) -> list[str]:
    """Programs of these names, the best name first, each on the PATH before other directories."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    directories = [Path(place) for place in (*path, *map(os.path.expanduser, places)) if place]
    files = (directory / name for name in names for directory in directories)
    return [str(file.absolute()) for file in files if os.path.isfile(file) and os.access(file, os.X_OK)]  # noqa: PTH113  no error for what may not be looked at


def pythons() -> list[str]:
    """Interpreters that may run tools: those of the PATH, and the one of this site's environment."""
    return executables(_PYTHONS, (f"{sys.base_prefix}/bin",))


@dataclass(frozen=True)
class ToolProgram:
    """The program of a tool: its possible names, its directories beside the PATH, and how to install it."""

    title: str
    install: str
    names: Sequence[str]
    places: Sequence[str] = ()

    def path(self, requested: str = "") -> str:
        """The chosen program, else the first that is installed.

        Raises:
            PredictorError: With what to install, or where the program may lie.
        """
        programs = executables(self.names, self.places)
        if requested:
            return check_program("program", requested, programs, self.install)
        if not programs:
            raise PredictorError(f"{self.title} is not here: {self.install}")
        return programs[0]


def check_program(option: str, requested: str, candidates: Iterable[str], install: str) -> str:
    """The path to run for a chosen program.

    Args:
        option: Option by which it was chosen, for the error.
        requested: A path.
        candidates: Programs of the tool on this computer, which anybody may choose.
        install: What to do where there is none, for the error.

    Raises:
        PredictorError: The program is missing, or neither a candidate nor in a directory of the operator.
    """
    if not os.path.exists(requested):  # noqa: PTH110  no error for what may not be looked at
        raise PredictorError(f"{option} {requested} is not there: {install}")
    real = os.path.realpath(requested)
    for path in (requested, *candidates) if is_operator_owned(requested) else candidates:
        if os.path.realpath(path) == real:
            return path
    places = ", ".join(dict.fromkeys(candidates)) or "nothing"
    raise PredictorError(
        f"{option} {requested} is neither what is found of the tool on this computer ({places}) nor in a "
        f"directory of {READ_VARIABLE}: {install}"
    )


def check_file(option: str, requested: str, program: str, install: str) -> None:
    """Raise `PredictorError` unless a file belongs to the installation of a program or is the operator's."""
    file = Path(os.path.realpath(requested))
    installation = [Path(os.path.realpath(place)) for place in program_paths(program)]
    if not is_operator_owned(requested) and not any(file.is_relative_to(place) for place in installation):
        raise PredictorError(
            f"{option} {requested} lies neither in the installation of {program} nor in a directory of "
            f"{READ_VARIABLE}: {install}"
        )


def is_operator_owned(path: str) -> bool:
    """Whether a path lies in a directory that the operator opens to tools; its last link counts as there."""
    place = Path(os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path)))  # noqa: PTH112, PTH120
    return any(place.is_relative_to(os.path.realpath(directory)) for directory in operator_read_directories())
