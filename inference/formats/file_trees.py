"""Directories and zip archives as trees of files, read without trusting them; writing zip archives.

Nothing is written to a path that an archive names: members are read into memory, or into a temporary file
that is deleted afterwards. Limits apply to the bytes that come out of a member, whatever its header says.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Protocol, cast

from inference.formats.problems import ExchangeError

MAX_FILES = 50_000  # of an uploaded folder or archive
MAX_BYTES = 2 << 30
"""Bytes of all files together, unpacked."""

FILE_LIMIT = 64 << 20
"""Bytes of one file that is read into memory."""

NAME_LIMIT = 300  # characters, as the column of kept files has it

_PIECE = 1 << 20  # bytes read at once
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError),
    ValueError,  # a place before the beginning, or a name that is no text
)
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\:]")
_ENTRY = b"PK\x01\x02"
"""Signature of each entry in the directory at the end of a zip; elsewhere it occurs by accident only."""


def entry_count(file: BinaryIO) -> int:
    """Number of entries in a zip's directory, an upper bound. Leaves the file at its beginning.

    Counts signatures without parsing, so that an archive with too many entries is refused before it is
    opened.
    """
    entries, tail = 0, b""
    file.seek(0)
    while piece := file.read(_PIECE):
        piece = tail + piece
        entries += piece.count(_ENTRY)
        tail = piece[-len(_ENTRY) + 1 :]
    file.seek(0)
    return entries


class FileTree(Protocol):
    """Files by their relative path, with slashes."""

    @property
    def name(self) -> str:
        """Name of the directory or archive."""

    def names(self) -> list[str]: ...

    def read(self, name: str, limit: int = FILE_LIMIT) -> bytes:
        """The content of a file. Raises `ExchangeError` where it is larger than the limit, or broken."""

    def on_disk(self, name: str, limit: int) -> AbstractContextManager[Path]:
        """A context in which the content is a file on disk, which must not be changed."""


class Directory:
    """The regular files below a directory; links and special files are ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._files: dict[str, Path] = {}
        for directory, _, names in os.walk(self._path, followlinks=False):
            for file_path in (Path(directory) / name for name in names):
                if stat.S_ISREG(file_path.lstat().st_mode):
                    self._files[_check_path(file_path.relative_to(self._path).as_posix(), self.name)] = (
                        file_path
                    )
            if len(self._files) > MAX_FILES:
                raise ExchangeError(f"{self.name} has more than {MAX_FILES:,} files")

    @property
    def name(self) -> str:
        return self._path.name

    def names(self) -> list[str]:
        return sorted(self._files)

    def read(self, name: str, limit: int = FILE_LIMIT) -> bytes:
        """The content of a file. Raises `ExchangeError` where it is larger than the limit."""
        with self._files[name].open("rb") as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise _too_large(name, limit)
        return content

    @contextmanager
    def on_disk(self, name: str, limit: int) -> Iterator[Path]:
        if self._files[name].stat().st_size > limit:
            raise _too_large(name, limit)
        yield self._files[name]


class Subtree:
    def __init__(self, tree: FileTree, directory: str) -> None:
        self._tree = tree
        self._top = f"{directory}/"

    @property
    def name(self) -> str:
        return PurePosixPath(self._top).name

    def names(self) -> list[str]:
        return [name.removeprefix(self._top) for name in self._tree.names() if name.startswith(self._top)]

    def read(self, name: str, limit: int = FILE_LIMIT) -> bytes:
        """The content of a file. Raises `ExchangeError` where it is larger than the limit, or broken."""
        return self._tree.read(self._top + name, limit)

    def on_disk(self, name: str, limit: int) -> AbstractContextManager[Path]:
        return self._tree.on_disk(self._top + name, limit)


class ZipTree:
    """The files of a zip archive; a single directory around all of them is not part of their names.

    Args:
        file: The archive.
        name: Its file name, for messages.
        most_bytes: Bytes of all files together, unpacked; 0: `MAX_BYTES`.

    Raises:
        ExchangeError: No zip archive, names that lead out of it, repeated names, links, or encrypted files.
    """

    def __init__(self, file: BinaryIO, name: str, most_bytes: int = 0) -> None:
        self._name = PurePosixPath(name).name.removesuffix(".zip")
        self._max_bytes = self._bytes_left = most_bytes or MAX_BYTES
        if (count := entry_count(file)) > MAX_FILES:
            raise ExchangeError(f"{name} has {count:,} files, of {MAX_FILES:,} at most")
        try:
            self._zip = zipfile.ZipFile(file)
        except _DAMAGED as error:
            raise ExchangeError(f"{name} is no zip archive: {error}") from error
        entries = [entry for entry in self._zip.infolist() if not entry.filename.endswith("/")]
        members: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            path = _check_path(entry.filename, name)
            if path in members:
                raise ExchangeError(f"{name} has the file {path} twice")
            is_link, is_encrypted = stat.S_ISLNK(entry.external_attr >> 16), entry.flag_bits & 1
            if is_link or is_encrypted or entry.compress_type not in _COMPRESSIONS:
                raise ExchangeError(
                    f"{name}: {path} is a link, encrypted, or compressed in an unusual way; an archive of "
                    "plain files (deflated or stored) is expected"
                )
            members[path] = entry
        top = _common_top(list(members))
        self._members = {path[len(top) :]: entry for path, entry in members.items()}

    @property
    def name(self) -> str:
        """The archive's name without its ending."""
        return self._name

    def names(self) -> list[str]:
        return sorted(self._members)

    def read(self, name: str, limit: int = FILE_LIMIT) -> bytes:
        """The content of a file. Raises `ExchangeError` where it is larger than the limit, or broken."""
        return b"".join(self._pieces(name, limit))

    def lines(self, name: str, max_lines: int, max_bytes: int) -> Iterator[tuple[str, bytes]]:
        """(place, line) of the lines of a file that are not empty.

        Args:
            name: Name of the file in the archive.
            max_lines: Lines at most.
            max_bytes: Bytes of a line at most.

        Raises:
            ExchangeError: The file exceeds a limit.
        """
        with self._open_part(name) as opened, io.BufferedReader(cast("io.RawIOBase", opened), _PIECE) as file:
            for number in count(1):
                line = file.readline(max_bytes + 1)
                if not line:
                    return
                self._count_bytes(len(line))
                if number > max_lines:
                    raise ExchangeError(f"{name} has more than {max_lines:,} lines, the most that are read")
                if len(line) > max_bytes:
                    raise _too_large(f"{name}, line {number}", max_bytes)
                if line.strip():
                    yield f"{name}, line {number}", line

    @contextmanager
    def on_disk(self, name: str, limit: int) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="pmweb-archive-") as directory:
            copy = Path(directory) / "file"
            with copy.open("wb") as file:
                for piece in self._pieces(name, limit):
                    file.write(piece)
            yield copy

    def _pieces(self, name: str, limit: int) -> Iterator[bytes]:
        size = 0
        with self._open_part(name) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                self._count_bytes(len(piece))
                if size > limit:
                    raise _too_large(name, limit)
                yield piece

    @contextmanager
    def _open_part(self, name: str) -> Iterator[IO[bytes]]:
        if name not in self._members:
            raise ExchangeError(f"{self._name} has no {name}")
        try:
            with self._zip.open(self._members[name]) as file:
                yield file
        except _DAMAGED as error:
            raise ExchangeError(f"{name} in the archive {self._name} is broken: {error}") from error

    def _count_bytes(self, size: int) -> None:
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise ExchangeError(f"{self._name} unpacks to more than {self._max_bytes >> 20} MiB")


def _check_path(path: str, where: str) -> str:
    """The path if it is relative and stays below the top. Raises `ExchangeError` otherwise."""
    parts = path.split("/")
    if {"", ".", ".."} & {*parts} or _FORBIDDEN.search(path):  # an absolute path begins with an empty part
        raise ExchangeError(f"{where} has a file named {path[:80]!r}; a relative path without .. is expected")
    if len(path) > NAME_LIMIT:
        raise ExchangeError(
            f"{where} has a file with a name of {len(path)} characters, of {NAME_LIMIT} at most"
        )
    return path


def _common_top(paths: list[str]) -> str:
    tops = {path.partition("/")[0] for path in paths}
    if len(tops) == 1 and all("/" in path for path in paths):
        return f"{tops.pop()}/"
    return ""


def _too_large(name: str, limit: int) -> ExchangeError:
    return ExchangeError(f"{name} is larger than {limit >> 20} MiB, the most that is read")


_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip can express; equal content gives equal bytes


def write_zip(file: BinaryIO, members: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """Write a zip archive of (name, parts of the content). Equal members give equal bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, parts in members:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)
