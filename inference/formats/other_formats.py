"""Formats that another app reads and writes: it registers them when it is ready.

Commands and pages of this app ask here first what a file is, and hand on what they are told.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
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
        ...

    def reads_path(self, path: Path) -> bool:
        """Whether a file or a directory is in one of the formats."""
        ...

    def reads_content(self, content: bytes) -> bool:
        """Whether an uploaded file is."""
        ...

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """What the page of the preview shows of an upload, as JSON; `options`: how it shall be read.

        Raises `ExchangeError` for a file that cannot be read, and for options that are none.
        """
        ...

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Import it, all or nothing; the lines tell what was made. Raises `ExchangeError`.

        `options` has what `add_arguments` declared, and `name` and `note`, "" for none.
        """
        ...


Writer = Callable[[str, BinaryIO], None]
"""Writes the row of a name to a file. Raises `ExchangeError` where there is none."""

_LOADERS: list[Callable[[], Importer]] = []
_WRITERS: dict[str, Writer] = {}


def register(importers: Iterable[Callable[[], Importer]]) -> None:
    """Add what imports importers when a file comes, which few processes ever see."""
    _LOADERS.extend(importers)


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
    """Those that are registered."""
    return [load() for load in _LOADERS]


def importer_of_path(path: Path) -> Importer | None:
    """Who reads a file or a directory, None for this app itself."""
    return next((one for one in importers() if one.reads_path(path)), None)


def importer_of_content(content: bytes) -> Importer | None:
    """Who reads an uploaded file, None for this app itself."""
    return next((one for one in importers() if one.reads_content(content)), None)
