"""The software that does a run: written into its journal whenever somebody begins to work on it."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

from inference import __version__

LIBRARIES = ("numpy", "scipy", "numba", "z3-solver", "iced-x86")
"""Those whose version can change a result."""


@cache
def versions() -> dict[str, str]:
    """{name: version} of this program, Python and the libraries; those that are missing are left out."""
    found = {"pmweb": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
