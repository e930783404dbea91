"""Which files a foreign program may open: those of the system, and what it is installed with.

The words of its command open nothing. They are looked at all the same: a program whose command names a file
that it may not open is not started, so that this holds on hosts without Landlock as well. A script among the
words is opaque, and is held by the kernel alone.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import inference
from inference.containment.limits import CannotStartError
from inference.containment.private import (
    is_home,
    opened_without_private,
    private_around,
    private_within,
    shielded,
)
from inference.sandbox import strangers

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
_SOURCES = Path(inference.__file__).resolve().parents[1]
"""The site's own checkout."""
_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_OPEN_TO_ALL = frozenset((*strangers.USUAL, *strangers.DEVICES, *_STREAMS)) - {"/proc/self"}

_FIRST_LINE = 256
_SEPARATORS = re.compile(r"[=,:;]")


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
        """With the temporary directory in which it runs, and without anything private.

        Raises `CannotStartError` where something private could be changed.
        """
        if not self.bounded:
            return self
        for path in self.writes:
            _check_directory(path, "a directory that it may change")
        own = (directory,) if self.own else ()
        return replace(self, reads=_public(self.reads, shielded()), writes=(*self.writes, *own))


UNBOUNDED = FileAccess(bounded=False)
"""For what needs rights that a stranger never has, and which the operator has set up to have them."""

LIBRARIES = FileAccess(reads=strangers.LIBRARIES, own=False)
"""Only to start: programs and libraries of the system."""


@lru_cache(maxsize=256)
def _public(paths: tuple[str, ...], _shielded: tuple[Path, ...]) -> tuple[str, ...]:
    usual = set(strangers.USUAL)
    return tuple(
        part for path in paths for part in ((path,) if path in usual else opened_without_private(path))
    )


def operators_directories() -> tuple[str, ...]:
    """Those that the operator opens to every tool. Raises `CannotStartError` for one with private files."""
    return _named_in(READS)


def places_of(program: str) -> tuple[str, ...]:
    """A program, the installation that it belongs to, and those that its links lead to."""
    return tuple(dict.fromkeys(map(str, _belonging_to(Path(program), ""))))


def access_of(command: Sequence[str], *parts: str) -> FileAccess:
    """What a command needs: the system, its program, what belongs to it, and what the operator opens.

    `parts`: files and directories that the tool consists of beside its program, chosen by the site. Raises
    `CannotStartError` where the program, a part or a word of the command is, or leads to, what it may not
    open.
    """
    reads, writes = operators_directories(), _named_in(WRITES)
    tool = (command[0], *parts)
    for path in tool:
        for hop in _hops(Path(path)):
            if private := private_around(hop):
                raise CannotStartError(f"{path} leads into {private}, where no program may look")
    installed = _installed(tool, os.environ.get("PATH", os.defpath), shielded())
    access = FileAccess((*strangers.SYSTEM, *strangers.USUAL, *installed, *reads), writes)
    _check_words(command[1:], access)
    return access


@lru_cache(maxsize=256)
def _installed(tool: tuple[str, ...], path: str, _shielded: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(place) for part in tool for place in _belonging_to(Path(part), path)))


def _named_in(variable: str) -> tuple[str, ...]:
    paths = tuple(filter(None, os.environ.get(variable, "").split(os.pathsep)))
    for path in paths:
        _check_directory(path, f"in {variable}")
    return paths


def _check_directory(path: str, what: str) -> None:
    for hop in _hops(Path(path)):
        private = private_around(hop) or private_within(hop)
        if private:
            raise CannotStartError(
                f"{path}, {what}, would open {private} to programs: name one that has only their files"
            )


def _check_words(words: Sequence[str], access: FileAccess) -> None:
    """Raise `CannotStartError` for a word that names what is there and may not be opened."""
    granted = _resolved((*access.reads, *access.writes))
    for word in words:
        for path in _paths_in(word):
            hops = list(_hops(path))
            if private := next(filter(None, map(private_around, hops)), None):
                raise CannotStartError(
                    f"its command names {path}, which leads into {private}, where no program may look"
                )
            if not any(hops[-1].is_relative_to(place) for place in granted):
                raise CannotStartError(
                    f"its command names {path}, which is neither of its own installation nor in a directory "
                    f"of {READS}"
                )


@lru_cache(maxsize=256)
def _resolved(paths: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(Path(path).resolve() for path in paths)


def _paths_in(word: str) -> Iterator[Path]:
    """What is there of the paths that a word may name: as a whole, behind an option, or in a list."""
    scratch = Path(tempfile.gettempdir(), "scratch")  # stands for a directory that is still to be made
    for piece in dict.fromkeys((word, *_SEPARATORS.split(word))):
        absolute, upwards = piece.find("/"), piece.find("..")
        texts = [piece[absolute:]] if absolute >= 0 else []
        if upwards >= 0:
            texts += [os.path.normpath(scratch / part) for part in (piece, piece[upwards:])]
        for text in texts:
            if os.path.lexists(text) and os.path.normpath(text) not in _OPEN_TO_ALL:
                yield Path(text)


def _belonging_to(named: Path, path: str) -> Iterator[Path]:
    """A file or directory with what lies around it, where its links lead, and what interprets it."""
    if not (named.is_dir() and _is_shared(named)):
        yield named
    for hop in dict.fromkeys(_hops(named)):
        yield from _around(hop)
    if named.is_file() and (interpreter := _interpreter(named, path)) and interpreter != named:
        yield from _belonging_to(interpreter, "")


def _hops(named: Path) -> Iterator[Path]:
    """A path, every path that its last link leads to, and last the one without any link."""
    hop = Path(os.path.normpath(named))
    for _ in range(8):
        yield hop
        if not hop.is_symlink():
            break
        hop = Path(os.path.normpath(hop.parent / hop.readlink()))
    yield Path(os.path.realpath(named))  # of links that lead to each other, too


def _around(file: Path) -> Iterator[Path]:
    """What a file is installed with: its checkout, all that /opt has of it, its prefix or its directory."""
    directory = file if file.is_dir() else file.parent
    candidates = [place for place in (directory, *directory.parents) if (place / ".git").exists()][:1]
    if directory.is_relative_to("/opt") and directory != Path("/opt"):
        candidates.append(Path(*directory.parts[:3]))
    if directory.name in _OF_PROGRAMS:
        candidates.append(directory.parent)
    place = next((place for place in (*candidates, directory) if not _is_shared(place)), None)
    if place is None:
        return
    yield place
    if place == directory and directory.name in _OF_PROGRAMS:  # its prefix is not its own, its libraries are
        yield directory.parent / "lib"


def _is_shared(place: Path) -> bool:
    """Whether others' things lie in a directory as well, such as this site's data or a person's settings."""
    place = place.resolve()
    return (
        place in _SHARED
        or _SOURCES.is_relative_to(place)
        or (place.name.startswith(".") and is_home(place.parent) and not (place / "pyvenv.cfg").is_file())
        or bool(private_around(place) or private_within(place))
    )


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
