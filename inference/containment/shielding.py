"""Directories with things that foreign programs must not see, whatever lies beside them."""

from __future__ import annotations

import os
from pathlib import Path

_places: list[Path] = []


def shield(*places: str | os.PathLike[str]) -> None:
    """From now on no directory counts as a program's own that has one of these in it."""
    _places.extend(Path(place).resolve() for place in places)


def shielded() -> tuple[Path, ...]:
    return tuple(_places)
