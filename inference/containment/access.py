"""Which files a foreign program may open: those of the system, and those it is installed with.

Words of its command grant nothing. They are checked nevertheless: a program whose command names a file that
it may not open is not started, which protects hosts without Landlock as well. A script among the words is
opaque; only the kernel confines it.
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
    paths_without_private,
    private_ancestor,
    private_descendant,
    shielded_places,
)
from inference.sandbox import confinement

READ_VARIABLE = "PMWEB_TOOL_DIRECTORIES"
"""Environment variable: further directories that every tool may read, separated by colons."""

WRITE_VARIABLE = "PMWEB_TOOL_CACHES"
"""Environment variable: directories that every tool may change, separated by colons."""

_PROGRAM_DIRECTORIES = frozenset(("bin", "sbin", "libexec"))
_SHARED_DIRECTORIES = frozenset(
    Path("/", name)
    for name in (
        *("", "bin", "home", "media", "mnt", "opt", "root", "sbin", "srv", "tmp", "usr", "var"),
        *("usr/bin", "usr/local", "usr/local/bin", "usr/sbin", "var/lib"),
    )
)
"""Directories whose contents belong to different programs, and so to no single installation."""

_SOURCES = Path(inference.__file__).resolve().parents[1]
"""The site's own checkout."""

_STANDARD_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_OPEN_TO_ALL = {*confinement.COMMON_FILES, *confinement.DEVICES, *_STANDARD_STREAMS} - {"/proc/self"}

_SHEBANG_BYTES = 256  # of a script's first line: the kernel reads no more
_SEPARATORS = re.compile(r"[=,:;]")


@dataclass(frozen=True)
class FileAccess:
    """Directories and files: `reads` to read and execute, `writes` to change as well.

    `own_directory`: the program's temporary directory is among the latter. Not `bounded`: the program may do
    whatever its user may, the network included.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    own_directory: bool = True
    bounded: bool = True

    def with_directory(self, directory: str) -> FileAccess:
        """This access with the temporary directory in which the program runs, and without private files.

        Raises `CannotStartError` where something private could be changed.
        """
        if not self.bounded:
            return self
        for path in self.writes:
            _check_directory(path, "a directory that it may change")
        private = (directory,) if self.own_directory else ()
        return replace(
            self, reads=_without_private(self.reads, shielded_places()), writes=(*self.writes, *private)
        )


UNBOUNDED = FileAccess(bounded=False)
"""For programs that need rights a confined one never has; the operator sets them up."""

LIBRARIES = FileAccess(reads=confinement.LIBRARIES, own_directory=False)
"""Programs and libraries of the system: enough to start a program, without a directory of its own."""


@lru_cache(maxsize=256)
def _without_private(paths: tuple[str, ...], _shielded: tuple[Path, ...]) -> tuple[str, ...]:
    usual = set(confinement.COMMON_FILES)
    return tuple(
        part for path in paths for part in ((path,) if path in usual else paths_without_private(path))
    )


def operator_read_directories() -> tuple[str, ...]:
    """The directories that the operator opens to every tool.

    Raises:
        CannotStartError: One of them has private files.
    """
    return _directories_in_variable(READ_VARIABLE)


def program_paths(program: str) -> tuple[str, ...]:
    """A program, its installation, and the installations that its links lead to."""
    return tuple(dict.fromkeys(map(str, _installation_paths(Path(program), ""))))


def access_of(command: Sequence[str], *parts: str) -> FileAccess:
    """The access that a command needs: system, program, its installation, and the operator's directories.

    Args:
        command: The words of the command; the first is the absolute path of the program.
        parts: Further files and directories of the tool, chosen by the site.

    Raises:
        CannotStartError: The program, a part or a word of the command is, or leads to, a forbidden file.
    """
    reads, writes = operator_read_directories(), _directories_in_variable(WRITE_VARIABLE)
    tool = (command[0], *parts)
    for path in tool:
        for hop in _link_hops(Path(path)):
            if private := private_ancestor(hop):
                raise CannotStartError(f"{path} leads into {private}, which programs may not open")
    installed = _installation_of_tool(tool, os.environ.get("PATH", os.defpath), shielded_places())
    access = FileAccess((*confinement.SYSTEM, *confinement.COMMON_FILES, *installed, *reads), writes)
    _check_words(command[1:], access)
    return access


@lru_cache(maxsize=256)
def _installation_of_tool(tool: tuple[str, ...], path: str, _shielded: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(str(place) for part in tool for place in _installation_paths(Path(part), path))
    )


def _directories_in_variable(variable: str) -> tuple[str, ...]:
    paths = tuple(filter(None, os.environ.get(variable, "").split(os.pathsep)))
    for path in paths:
        _check_directory(path, f"in {variable}")
    return paths


def _check_directory(path: str, label: str) -> None:
    for hop in _link_hops(Path(path)):
        private = private_ancestor(hop) or private_descendant(hop)
        if private:
            raise CannotStartError(
                f"{path}, {label}, would open {private} to programs: name one that has only their files"
            )


def _check_words(words: Sequence[str], access: FileAccess) -> None:
    """Raise `CannotStartError` for a word that names an existing file outside the granted directories."""
    granted = _resolved_paths((*access.reads, *access.writes))
    for word in words:
        for path in _existing_paths_in(word):
            hops = list(_link_hops(path))
            if private := next(filter(None, map(private_ancestor, hops)), None):
                raise CannotStartError(
                    f"its command names {path}, which leads into {private}, which programs may not open"
                )
            if not any(hops[-1].is_relative_to(place) for place in granted):
                raise CannotStartError(
                    f"its command names {path}, which is outside its installation and the directories "
                    f"of {READ_VARIABLE}"
                )


@lru_cache(maxsize=256)
def _resolved_paths(paths: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(Path(path).resolve() for path in paths)


def _existing_paths_in(word: str) -> Iterator[Path]:
    """Existing paths that a word may name: the word itself, behind an option, or in a list."""
    scratch = Path(tempfile.gettempdir(), "scratch")  # stands for a directory that is still to be made
    for piece in dict.fromkeys((word, *_SEPARATORS.split(word))):
        root_at, parent_at = piece.find("/"), piece.find("..")
        texts = [piece[root_at:]] if root_at >= 0 else []
        if parent_at >= 0:
            texts += [os.path.normpath(scratch / part) for part in (piece, piece[parent_at:])]
        for text in texts:
            if os.path.lexists(text) and os.path.normpath(text) not in _OPEN_TO_ALL:
                yield Path(text)


def _installation_paths(tool: Path, path: str) -> Iterator[Path]:
    """A file or directory with its installation, the targets of its links, and its interpreter."""
    if not (tool.is_dir() and _is_shared(tool)):
        yield tool
    for hop in dict.fromkeys(_link_hops(tool)):
        yield from _installation_directories(hop)
    if tool.is_file() and (interpreter := _interpreter(tool, path)) and interpreter != tool:
        yield from _installation_paths(interpreter, "")


def _link_hops(path: Path) -> Iterator[Path]:
    """A path, each path that its last link leads to, and finally the path without any link."""
    hop = Path(os.path.normpath(path))
    for _ in range(8):
        yield hop
        if not hop.is_symlink():
            break
        hop = Path(os.path.normpath(hop.parent / hop.readlink()))
    yield Path(os.path.realpath(path))  # of links that lead to each other, too


def _installation_directories(file: Path) -> Iterator[Path]:
    """The installation of a file: its checkout, its folder in /opt, its prefix or its directory."""
    directory = file if file.is_dir() else file.parent
    candidates = [place for place in (directory, *directory.parents) if (place / ".git").exists()][:1]
    if directory.is_relative_to("/opt") and directory != Path("/opt"):
        candidates.append(Path(*directory.parts[:3]))
    if directory.name in _PROGRAM_DIRECTORIES:
        candidates.append(directory.parent)
    place = next((place for place in (*candidates, directory) if not _is_shared(place)), None)
    if place is None:
        return
    yield place
    if (
        place == directory and directory.name in _PROGRAM_DIRECTORIES
    ):  # its prefix is not its own, its libraries are
        yield directory.parent / "lib"


def _is_shared(place: Path) -> bool:
    """Whether a directory also has files of other owners, such as this site's data or a person's settings."""
    place = place.resolve()
    return (
        place in _SHARED_DIRECTORIES
        or _SOURCES.is_relative_to(place)
        or (place.name.startswith(".") and is_home(place.parent) and not (place / "pyvenv.cfg").is_file())
        or bool(private_ancestor(place) or private_descendant(place))
    )


def _interpreter(script: Path, path: str) -> Path | None:
    """The program named in the first line of a script; None where it names none."""
    try:
        with script.open("rb") as file:
            first_line = file.readline(_SHEBANG_BYTES)
    except OSError:
        return None
    words = first_line[2:].decode(errors="replace").split() if first_line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        words = [shutil.which(name, path=path or None) or ""]
    return Path(words[0]) if words and words[0].startswith("/") else None
