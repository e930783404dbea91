"""Registry of the file formats of other apps, which register them when Django is ready.

This app's import command and pages try these importers before their own formats.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from inference.core.protocols import Json

BEGINNING = 8192
"""Bytes at the beginning of a file from which its format is detected."""


class Importer(Protocol):
    """Reads the formats of another app."""

    titles: str
    """The formats' titles, for messages."""
    preview: str
    """URL name of the page that previews an upload; its argument is the upload's id."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options of `manage.py import` that only these formats use."""
        del parser

    def reads(self, file: BinaryIO) -> bool:
        """Whether an open file, whose beginning matched the entry's pattern, is in one of the formats."""
        del file
        return True

    def reads_directory(self, path: Path) -> bool:
        del path
        return False

    def read(self, file: BinaryIO, file_name: str, options: Json) -> Json:
        """The preview of an upload as JSON.

        Args:
            file: The uploaded file, at its beginning.
            file_name: Name of the file, for errors and as a default name.
            options: Choices of the form, which the format checks.

        Raises:
            ExchangeError: The file is unreadable, or an option is invalid.
        """

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Import a file or directory, all or nothing; returns a report, line by line.

        `options`: those of `add_arguments`, `name` and `note`, "" for none, and `report`, to be called with
        the bytes that were read. Raises `ExchangeError`.
        """


Writer = Callable[[str, BinaryIO], None]
"""(name of a row, file) → writes the row to the file. Raises `ExchangeError` for an unknown name."""


@dataclass(frozen=True)
class ImporterEntry:
    """`load` is called, and imports the importer, when a file's beginning matches `pattern`."""

    pattern: re.Pattern[bytes]
    load: Callable[[], Importer]


_ENTRIES: list[ImporterEntry] = []
_WRITERS: dict[str, Writer] = {}


def register(entries: Iterable[ImporterEntry]) -> None:
    """Add importers; the first that reads a file is used."""
    _ENTRIES.extend(entries)


def register_writers(writers: Mapping[str, Writer]) -> None:
    """Add kinds of rows for `manage.py export`. Writers import their modules when they are called."""
    _WRITERS.update(writers)


def written_kinds() -> list[str]:
    return list(_WRITERS)


def writer_of(kind: str) -> Writer:
    return _WRITERS[kind]


def importers() -> list[Importer]:
    return [entry.load() for entry in _ENTRIES]


def importer_of_path(path: Path) -> Importer | None:
    """The importer of a file or directory, None where this app reads it."""
    if path.is_dir():
        return next((importer for importer in importers() if importer.reads_directory(path)), None)
    if not path.is_file():
        return None  # the command says why
    try:
        with path.open("rb") as file:
            return importer_of_file(file)
    except OSError:
        return None


def importer_of_file(file: BinaryIO) -> Importer | None:
    """The importer of an uploaded file, None where this app reads it."""
    beginning = file.read(BEGINNING)
    for entry in _ENTRIES:
        if entry.pattern.search(beginning):
            importer = entry.load()
            file.seek(0)
            if importer.reads(file):
                return importer
    return None
