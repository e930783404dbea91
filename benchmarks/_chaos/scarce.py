"""What runs out or goes wrong on a computer and can be arranged here: room on a disk, and the time of day."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 1 << 20  # bytes written at once, until the disk takes no more
_LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1")


class NotHereError(Exception):
    """It cannot be arranged on this computer; the message says why."""


@dataclass
class SmallDisk:
    """A file system of so many MiB at `place`, which only root can have. Raises `NotHereError`."""

    place: Path
    megabytes: int

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        options = ["mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m", "pmweb-chaos", str(self.place)]
        try:
            done = subprocess.run(options, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise NotHereError("there is no program mount") from error
        if done.returncode:
            raise NotHereError(f"a small file system needs root's rights: {done.stderr.strip()}")

    @property
    def _ballast(self) -> Path:
        return self.place / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb") as ballast, contextlib.suppress(OSError):
            while True:
                written = os.write(ballast.fileno(), bytes(_BLOCK))
                if written < _BLOCK:
                    continue

    def clear(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        """Take the file system away; whatever is in it is gone."""
        subprocess.run(["umount", "-l", str(self.place)], capture_output=True, check=False)


@dataclass
class Clock:
    """The time of day of processes that are started with `environment`; how long things take is unchanged.

    libfaketime reads `file` every second. Raises `NotHereError` without it.
    """

    file: Path

    def __post_init__(self) -> None:
        found = [str(path) for pattern in _LIBRARIES for path in Path("/").glob(pattern[1:])]
        if not found:
            raise NotHereError("libfaketime is not installed: apt install faketime")
        self._library = found[0]
        self.set(0)

    @property
    def environment(self) -> dict[str, str]:
        """For processes that shall have this clock."""
        return {
            "LD_PRELOAD": self._library,
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",  # seconds until a new time is known everywhere
            "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def set(self, seconds: float) -> None:
        """Let the clock be ahead of the true one by so much, or behind it."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{seconds:+.3f}\n")
        new.replace(self.file)
