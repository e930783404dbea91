"""Formats that another app reads and writes: it registers them when it is ready.

Commands and pages of this app ask here first what a file is, and hand on what they are told.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from inference.core.protocols import Json

BEGINNING = 8192
"""Bytes of a file by which it is recognised."""


class Importer(Protocol):
    """Reads the formats of another app."""

    titles: str
    """What they are called, for messages."""
    preview: str
    """Name of the address that shows an upload before it is imported; its argument is the upload's id."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what `manage.py import` takes for these formats alone."""
        del parser

    def reads(self, file: BinaryIO) -> bool:
        """Whether an opened file, which begins as its entry says, is in one of the formats."""
        del file
        return True

    def reads_directory(self, path: Path) -> bool:
        """Whether a directory is in one of them."""
        del path
        return False

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """What the page of the preview shows of an upload, as JSON; `options`: how it shall be read.

        Raises `ExchangeError` for a file that cannot be read, and for options that are none.
        """

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Import it, all or nothing; the lines tell what was made. Raises `ExchangeError`.

        `options` has what `add_arguments` declared, and `name` and `note`, "" for none.
        """


Writer = Callable[[str, BinaryIO], None]
"""Writes the row of a name to a file. Raises `ExchangeError` where there is none."""


@dataclass(frozen=True)
class ImporterEntry:
    """`load` imports what reads files whose first bytes have `pattern`, when such a file comes."""

    pattern: re.Pattern[bytes]
    load: Callable[[], Importer]


_ENTRIES: list[ImporterEntry] = []
_WRITERS: dict[str, Writer] = {}


def register(entries: Iterable[ImporterEntry]) -> None:
    """Add importers; of several that read a file, the first counts."""
    _ENTRIES.extend(entries)


def register_writers(writers: Mapping[str, Writer]) -> None:
    """Add kinds of rows that `manage.py export` takes; a writer imports what it needs when it is called."""
    _WRITERS.update(writers)


def written_kinds() -> list[str]:
    """The kinds of rows that other apps write."""
    return list(_WRITERS)


def writer_of(kind: str) -> Writer:
    """What writes rows of this kind."""
    return _WRITERS[kind]


def importers() -> list[Importer]:
    return [entry.load() for entry in _ENTRIES]


def importer_of_path(path: Path) -> Importer | None:
    """Who reads a file or a directory, None for this app itself."""
    if path.is_dir():
        return next((importer for importer in importers() if importer.reads_directory(path)), None)
    if not path.is_file():
        return None  # the command says why
    try:
        with path.open("rb") as file:
            return _importer_of(file)
    except OSError:
        return None


def importer_of_content(content: bytes) -> Importer | None:
    """Who reads an uploaded file, None for this app itself."""
    return _importer_of(BytesIO(content))


def _importer_of(file: BinaryIO) -> Importer | None:
    beginning = file.read(BEGINNING)
    for entry in _ENTRIES:
        if entry.pattern.search(beginning):
            importer = entry.load()
            file.seek(0)
            if importer.reads(file):
                return importer
    return None
