"""Where uiCA and Facile are: a directory with their modules and data, and the Python that runs them.

Both are in uiCA's repository, and in PyPI's package `machine-code-analyzer`. Either way they need the Python
module `xed`, which is built from XED's sources for one version of Python and says so in its name.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.predictors.calling import digest_of
from inference.predictors.protocol import PredictorError
from inference.predictors.tool_paths import check_program, executables, pythons

INSTALL = (
    "git clone https://github.com/andreas-abel/uiCA /opt/uiCA && cd /opt/uiCA && ./setup.sh, or install "
    "machine-code-analyzer in a Python environment, build XED's module `xed` from its sources into it (the "
    "package of that name is another thing), and name that Python in PMWEB_UICA"
)
VARIABLE = "PMWEB_UICA"
_PLACES = ("/opt/uiCA", "~/uiCA")
_IN_A_PACKAGE = Path("machine_code_analyzer", "deps", "uiCA")
_DATA = "_data.py"
_BUILT_FOR = re.compile(r"xed\.cpython-(\d)(\d+)")


@dataclass(frozen=True)
class UicaFiles:
    """`directory` has uiCA.py, facile.py and instrData; `python` runs them; `decoder` is the module `xed`."""

    directory: Path
    python: str
    decoder: Path

    @property
    def processors(self) -> tuple[str, ...]:
        """The architectures for which there is data, sorted."""
        files = self.directory.glob(f"instrData/*{_DATA}")
        return tuple(sorted(file.name.removesuffix(_DATA) for file in files))

    def digest(self, arch: str) -> str:
        """A digest of everything that the answers for a processor depend on. Raises `PredictorError`."""
        parts = [*sorted(self.directory.glob("*.py")), self.directory / "instrData" / f"{arch}{_DATA}"]
        digests = [f"{part.name} {digest_of(str(part))}" for part in [*parts, self.decoder]]
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def find(program: str = "", python: str = "") -> UicaFiles:
    """The installation that `program` names, else that of `PMWEB_UICA`, else the one at its usual place.

    `program`: uiCA.py, facile.py, their directory, or a Python that has the package.

    Raises:
        PredictorError: With what is missing.
    """
    configured = os.environ.get(VARIABLE, "")
    places = [configured] if configured else [*executables(("uiCA.py",)), *map(os.path.expanduser, _PLACES)]
    directories = [candidate for place in places if (candidate := _directory_of(Path(place)))]
    if program:
        directories = [_chosen_directory(program, directories)]
    if not directories:
        raise PredictorError(f"uiCA is not here{f' at {configured}' if configured else ''}: {INSTALL}")
    directory = directories[0]
    environment = _environment_of(directory)
    decoder = _decoder(directory, environment)
    if decoder is None:
        raise PredictorError(
            f"uiCA in {directory} lacks its decoder, the Python module `xed`, which is built from XED's "
            f"sources and put beside uiCA.py: {INSTALL}"
        )
    if not python:
        return UicaFiles(directory, _python_of(environment, decoder), decoder)
    usual = [str(environment / "bin" / "python")] if environment else []
    return UicaFiles(directory, check_program("python", python, [*usual, *pythons()], INSTALL), decoder)


def _chosen_directory(program: str, installed: Sequence[Path]) -> Path:
    """The directory of a chosen path. Raises `PredictorError` for one that may not be chosen."""
    directory = _directory_of(Path(program))
    if directory is None:
        raise PredictorError(f"uiCA is not here at {program}: {INSTALL}")
    return Path(check_program("program", str(directory), map(str, installed), INSTALL))


def _directory_of(named: Path) -> Path | None:
    """The directory with uiCA.py that belongs to a file, a directory or a Python."""
    candidates = [named, named.parent, named.resolve().parent]
    candidates += [site / _IN_A_PACKAGE for site in _sites(named.parent.parent)]
    return next((candidate.absolute() for candidate in candidates if (candidate / "uiCA.py").is_file()), None)


def _sites(prefix: Path) -> list[Path]:
    return sorted(prefix.glob("lib/python3*/site-packages"))


def _environment_of(directory: Path) -> Path | None:
    return next((parent for parent in directory.parents if (parent / "pyvenv.cfg").is_file()), None)


def _decoder(directory: Path, environment: Path | None) -> Path | None:
    places = [directory, *(_sites(environment) if environment else ())]
    return next((file for place in places for file in sorted(place.glob("xed*.so"))), None)


def _python_of(environment: Path | None, decoder: Path) -> str:
    """The Python of its environment; else one of the version for which its decoder was built."""
    if environment is not None:
        return str(environment / "bin" / "python")
    built = _BUILT_FOR.match(decoder.name)
    name = f"python{built[1]}.{built[2]}" if built else "python3"
    ours = Path(sys.base_prefix, "bin", name)  # no shim of a version manager, which cannot start contained
    python = str(ours) if ours.is_file() else shutil.which(name)
    if python is None:
        raise PredictorError(f"uiCA's decoder {decoder} was built for {name}, which is not here: {INSTALL}")
    return python


def processors() -> tuple[str, ...]:
    """Processors of the installation; () where there is none."""
    try:
        return find().processors
    except PredictorError:
        return ()
