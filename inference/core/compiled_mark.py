"""Whether the inner loops have been compiled for this computer: a mark file beside numba's cache.

Reading the mark takes milliseconds; loading numba to find out would take seconds.
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
    """Whether a process has used every loop of exactly these sources, with this numba on this processor."""
    try:
        return _mark().read_text() == _fingerprint()
    except (OSError, importlib.metadata.PackageNotFoundError):
        return False


def is_cached(package: str, function: str) -> bool:
    """Whether a process has compiled a function of exactly these sources.

    Args:
        package: The package that it is in.
        function: Its module and name, such as `kernel.run`.
    """
    return any(cache_directory().glob(f"{package}_*/{function}-*.nbi"))


def record_compiled() -> None:
    """Write the mark; where that is not possible, the loops count as not compiled."""
    mark = _mark()
    with contextlib.suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(_fingerprint())


def cache_directory() -> Path:
    """Where numba stores the machine code of exactly these sources: one directory for each state of them.

    numba's cache compares only the file of a compiled function. After an update it would use loops that
    inlined functions of other files as these were before.
    """
    root = os.environ.get(CACHE_VARIABLE)
    digest = hashlib.sha256()
    for file in sorted(_SOURCES.rglob("*.py")):
        status = file.stat()
        digest.update(f"{file.relative_to(_SOURCES)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return (Path(root) if root else _SOURCES / "__pycache__") / f"{PREFIX}{digest.hexdigest()[:16]}"


def _mark() -> Path:
    return cache_directory() / _MARK


def _fingerprint() -> str:
    """Changes with everything else that makes numba compile again."""
    facts = [
        sys.version,
        importlib.metadata.version("numba"),
        importlib.metadata.version("numpy"),
        _processor(),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _processor() -> str:
    """Model and features of the first processor according to the kernel; "" where it does not say."""
    with contextlib.suppress(OSError):
        first = Path("/proc/cpuinfo").read_text().split("\n\n", maxsplit=1)[0]
        return "\n".join(line for line in first.splitlines() if line.startswith(_CPU_FACTS))
    return ""
