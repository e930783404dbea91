"""Pages, API, shell, archives and sockets of runs. The engine that executes runs is `inference.runs`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

from inference.formats.other_formats import ImporterEntry

if TYPE_CHECKING:
    from inference.formats.other_formats import Importer


def _archives() -> Importer:
    from inference.features.running.runs.archive import RunArchives  # noqa: PLC0415  imports load it

    return RunArchives()


def _write(name: str, file: BinaryIO) -> None:
    from inference.features.running.runs.archive import write_run  # noqa: PLC0415  exports load it

    write_run(name, file)


IMPORTERS = (ImporterEntry(re.compile(rb"\APK\x03\x04"), _archives),)

WRITERS = {"run": _write}
