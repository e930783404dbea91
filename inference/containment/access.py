"""Which files a foreign program may open: those of the system, its own, and what its command names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from inference.sandbox import strangers
from inference.sandbox.strangers import shielded

READS = "PMWEB_TOOL_DIRECTORIES"
"""More directories that every tool may read, parted by colons."""
WRITES = "PMWEB_TOOL_CACHES"
"""Likewise, those that it may change."""

_OF_PROGRAMS = frozenset(("bin", "sbin", "libexec"))
_SHARED = frozenset(
    Path("/", name)
    for name in (
        *("", "bin", "home", "media", "mnt", "opt", "root", "sbin", "srv", "tmp", "usr", "var"),
        *("usr/bin", "usr/local", "usr/local/bin", "usr/sbin", "var/lib"),
    )
)
"""Where things lie that have nothing to do with each other."""

_FIRST_LINE = 256


@dataclass(frozen=True)
class FileAccess:
    """Directories and files: `reads` to read and execute, `writes` to change as well.

    `own`: its temporary directory is among the latter. Not `bounded`: whatever its user may, and the network.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    own: bool = True
    bounded: bool = True

    def with_own(self, directory: str) -> FileAccess:
        """With the temporary directory in which it runs."""
        return replace(self, writes=(*self.writes, directory)) if self.own else self


UNBOUNDED = FileAccess(bounded=False)
"""For what needs rights that a stranger never has, and which the operator has set up to have them."""

LIBRARIES = FileAccess(reads=strangers.LIBRARIES, own=False)
"""Only to start: programs and libraries of the system."""


def places_of(program: str) -> tuple[str, ...]:
    """A program, the installation that it belongs to, and those that its links lead to."""
    return tuple(dict.fromkeys(map(str, _belonging_to(Path(program), ""))))


def access_of(command: Sequence[str]) -> FileAccess:
    """What a command needs: the system, its program and what belongs to it, files among its words."""
    surroundings = os.environ
    more = surroundings.get(READS, ""), surroundings.get(WRITES, "")
    return _access_of(tuple(command), surroundings.get("PATH", os.defpath), *more, shielded())


@lru_cache(maxsize=256)
def _access_of(
    command: tuple[str, ...], path: str, reads: str, writes: str, _shielded: tuple[Path, ...]
) -> FileAccess:
    found = [*strangers.SYSTEM, *strangers.USUAL]
    found += [place for place in path.split(os.pathsep) if place and not _is_shared(Path(place))]
    found += filter(None, reads.split(os.pathsep))
    for word in command:
        named = Path(word if word.startswith("/") else word.partition("=")[2])
        if named.is_absolute() and named.exists():
            found += map(str, _belonging_to(named, path))
    return FileAccess(tuple(dict.fromkeys(found)), tuple(filter(None, writes.split(os.pathsep))))


def _belonging_to(named: Path, path: str) -> Iterator[Path]:
    """A file or directory with what lies around it, where its links lead, and what interprets it."""
    if not (named.is_dir() and _is_shared(named)):
        yield named
    for one in dict.fromkeys(_hops(named)):
        yield from _around(one)
    if named.is_file() and (interpreter := _interpreter(named, path)) and interpreter != named:
        yield from _belonging_to(interpreter, "")


def _hops(named: Path) -> Iterator[Path]:
    """A path, every path that its last link leads to, and the one without any link."""
    one = named
    for _ in range(8):
        yield one
        if not one.is_symlink():
            break
        one = Path(os.path.normpath(one.parent / one.readlink()))
    yield named.resolve()


def _around(one: Path) -> Iterator[Path]:
    """What a file is installed with: its checkout, all that /opt has of it, its prefix or its directory."""
    directory = one if one.is_dir() else one.parent
    candidates = [place for place in (directory, *directory.parents) if (place / ".git").exists()][:1]
    if directory.is_relative_to("/opt") and directory != Path("/opt"):
        candidates.append(Path(*directory.parts[:3]))
    if directory.name in _OF_PROGRAMS:
        candidates.append(directory.parent)
    yield from [place for place in (*candidates, directory) if not _is_shared(place)][:1]


def _is_shared(place: Path) -> bool:
    """Whether a directory has others' things in it as well, such as this site's data."""
    place = place.resolve()
    return place in _SHARED or place == Path.home() or any(one.is_relative_to(place) for one in shielded())


def _interpreter(script: Path, path: str) -> Path | None:
    """What the first line of a script names."""
    try:
        with script.open("rb") as file:
            begin = file.readline(_FIRST_LINE)
    except OSError:
        return None
    words = begin[2:].decode(errors="replace").split() if begin.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        words = [shutil.which(name, path=path or None) or ""]
    return Path(words[0]) if words and words[0].startswith("/") else None
