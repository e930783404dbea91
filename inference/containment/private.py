"""Files that no foreign program may open, whatever names them: the site's data, keys, home directories.

The site adds its own directories with `shield`. A hard link is another name of the same file and is not
recognised: whoever can create one can read the file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_SYSTEM_PATHS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"),
    *("/etc/ssh", "/etc/ssl/private", "/proc"),
)
_HOME_SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube"),
    *(".netrc", ".pgpass", ".pypirc", ".git-credentials"),
)
_HOME_TOOLS = (
    *(".local/bin", ".local/lib", ".local/share/pipx", ".osaca"),
    *("uiCA", "iaca", "nanoBench"),
)
"""Where predictors are searched. The data directory of a service is often the home of its user as well."""


def is_home(place: Path) -> bool:
    """Whether a directory is a home: of this process's user, of root, or in /home."""
    return place in (Path.home(), Path("/root")) or place.parent == Path("/home")


def private_ancestor(path: Path) -> Path | None:
    """The private place that contains a path without links, or equals it; None where there is none."""
    tools = [Path.home() / name for name in _HOME_TOOLS]
    tool = next((place for place in tools if path.is_relative_to(place)), None)
    places = (
        _private_places()
        if tool is None
        else (place for place in shielded_places() if place.is_relative_to(tool))
    )
    return next((place for place in places if path.is_relative_to(place)), None)


def private_descendant(directory: Path) -> Path | None:
    """A private place or home inside a directory without links; None where all of it may be opened."""
    return next((place for place in (*_private_places(), *_homes()) if place.is_relative_to(directory)), None)


def paths_without_private(path: str) -> Iterator[str]:
    """A path, or the parts of it that contain nothing private."""
    place = Path(path).resolve()
    if private_ancestor(place):
        return
    if not private_descendant(place):
        yield path
        return
    with contextlib.suppress(PermissionError):  # what cannot be listed stays closed
        for child in place.iterdir():
            if not child.is_symlink():  # opening a link would open its target
                yield from paths_without_private(str(child))


def _private_places() -> Iterator[Path]:
    yield from shielded_places()
    yield from map(Path, _SYSTEM_PATHS)
    for home in _homes():
        yield from (home / name for name in _HOME_SECRETS)


def _homes() -> Iterator[Path]:
    yield from (Path.home(), Path("/root"))
    if Path("/home").is_dir():
        yield from Path("/home").iterdir()


_shielded: list[Path] = []


def shield(*places: str | os.PathLike[str]) -> None:
    """Declare places private: no directory that contains one counts as a program's own."""
    _shielded.extend(Path(place).resolve() for place in places)


def shielded_places() -> tuple[Path, ...]:
    return tuple(_shielded)
