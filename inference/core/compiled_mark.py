"""Whether the inner loops have been compiled for this computer: a mark beside what numba keeps on disk.

Finding that out takes milliseconds; loading numba in order to see takes seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import sys
from pathlib import Path

_SOURCES = Path(__file__).parent
_MARK = "compiled"
PREFIX = "loops-"
CACHE_VARIABLE = "NUMBA_CACHE_DIR"
_CPU_FACTS = ("model name", "flags", "CPU implementer", "CPU part", "Features")


def is_compiled() -> bool:
    """Whether a process has used every loop of these very sources, with this numba on this processor."""
    try:
        return _mark().read_text() == _fingerprint()
    except (OSError, importlib.metadata.PackageNotFoundError):
        return False


def note_compiled() -> None:
    """Remember it; where that cannot be written, it is found out anew each time."""
    mark = _mark()
    with contextlib.suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(_fingerprint())


def cache_directory() -> Path:
    """Where numba keeps what it compiles of these very sources: one directory for each state of them.

    Of a function that was compiled before, numba compares its own file alone. After an update it would go on
    with loops that hold functions of other files as these were.
    """
    own = os.environ.get(CACHE_VARIABLE)
    digest = hashlib.sha256()
    for file in sorted(_SOURCES.rglob("*.py")):
        status = file.stat()
        digest.update(f"{file.relative_to(_SOURCES)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return (Path(own) if own else _SOURCES / "__pycache__") / f"{PREFIX}{digest.hexdigest()[:16]}"


def _mark() -> Path:
    return cache_directory() / _MARK


def _fingerprint() -> str:
    """Changes with whatever else makes numba compile again."""
    told = [
        sys.version,
        importlib.metadata.version("numba"),
        importlib.metadata.version("numpy"),
        _processor(),
    ]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _processor() -> str:
    """The first one's model and abilities, as far as the kernel tells."""
    with contextlib.suppress(OSError):
        first = Path("/proc/cpuinfo").read_text().split("\n\n", maxsplit=1)[0]
        return "\n".join(line for line in first.splitlines() if line.startswith(_CPU_FACTS))
    return ""
