"""Files that no foreign program may open, whatever names them: the site's data, keys, people's homes.

Beside those of every system and home there are directories that the site shields. A hard link is another name
of the same file and is not recognised: whoever can make one can read the file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_OF_THE_SYSTEM = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"),
    *("/etc/ssh", "/etc/ssl/private", "/proc"),
)
_KEYS_OF_A_HOME = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube"),
    *(".netrc", ".pgpass", ".pypirc", ".git-credentials"),
)
_TOOLS_OF_A_HOME = (
    *(".local/bin", ".local/lib", ".local/share/pipx", ".osaca"),
    *("uiCA", "iaca", "nanoBench"),
)
"""Where predictors are looked for. The data directory of a service is often the home of its user as well."""


def is_home(place: Path) -> bool:
    """Whether a directory is the home of somebody: of this process's user, of root, or in /home."""
    return place in (Path.home(), Path("/root")) or place.parent == Path("/home")


def private_around(path: Path) -> Path | None:
    """The private place that a path without links is, or lies in."""
    tools = [Path.home() / name for name in _TOOLS_OF_A_HOME]
    tool = next((place for place in tools if path.is_relative_to(place)), None)
    places = _places() if tool is None else (place for place in shielded() if place.is_relative_to(tool))
    return next((place for place in places if path.is_relative_to(place)), None)


def private_within(directory: Path) -> Path | None:
    """What a directory without links must not be opened for as a whole: something private, or a home."""
    return next((place for place in (*_places(), *_homes()) if place.is_relative_to(directory)), None)


def opened_without_private(path: str) -> Iterator[str]:
    """A path, or what lies in it but for private places."""
    place = Path(path).resolve()
    if private_around(place):
        return
    if not private_within(place):
        yield path
        return
    with contextlib.suppress(PermissionError):  # what cannot be listed stays closed
        for child in place.iterdir():
            if not child.is_symlink():  # opening a link would open its target
                yield from opened_without_private(str(child))


def _places() -> Iterator[Path]:
    yield from shielded()
    yield from map(Path, _OF_THE_SYSTEM)
    for home in _homes():
        yield from (home / name for name in _KEYS_OF_A_HOME)


def _homes() -> Iterator[Path]:
    yield from (Path.home(), Path("/root"))
    if Path("/home").is_dir():
        yield from Path("/home").iterdir()


_hidden_places: list[Path] = []


def shield(*places: str | os.PathLike[str]) -> None:
    """From now on no directory counts as a program's own that has one of these in it."""
    _hidden_places.extend(Path(place).resolve() for place in places)


def shielded() -> tuple[Path, ...]:
    return tuple(_hidden_places)
