"""Real programs that read our exports: where they are, and honest skips."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TIMEOUT = 60.0


def osaca() -> str:
    """OSACA as `$PMWEB_OSACA` or on the PATH; skips where there is none."""
    found = os.environ.get("PMWEB_OSACA") or shutil.which("osaca")
    if not found:
        pytest.skip("OSACA is not on the PATH, and PMWEB_OSACA does not say where it is")
    return found


def llvm(program: str, oldest: int = 1, newest: int = 99) -> tuple[str, int]:
    """An LLVM program with its release, the newest of those that are wanted; skips where there is none."""
    places = [
        *Path("/usr/lib").glob(f"llvm-*/bin/{program}"),
        *Path("/usr/local/lib").glob(f"llvm-*/bin/{program}"),
    ]
    named = [(str(path), int(re.findall(r"llvm-(\d+)", str(path))[0])) for path in places]
    fitting = sorted((each for each in named if oldest <= each[1] <= newest), key=lambda each: each[1])
    if not fitting:
        pytest.skip(f"{program} of LLVM {oldest} to {newest} is not installed in /usr/lib/llvm-*/bin")
    return fitting[-1]


def called(command: list[str], home: Path | None = None) -> str:
    """What a program prints; fails with its complaint where it does not end well."""
    environment = {**os.environ, **({"HOME": str(home)} if home else {})}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
