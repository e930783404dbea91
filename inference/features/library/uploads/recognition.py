"""What an uploaded file is and says, found out in a process of its own while somebody waits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from inference.features.running.runs.archive import RunArchives
from inference.formats.file_units import FileUnit
from inference.formats.import_formats import ParsedFile, pack, read, unpack
from inference.formats.other_formats import importer_of_content
from inference.formats.run_archive.reading import glimpse_of
from inference.web.reading_process import READING_SECONDS, read_apart


@dataclass(frozen=True)
class Recognition:
    """`run` and `rows`: name and number of measurements of a run's archive, "" and 0 for other files.

    `other`: the formats of another app that the file is one of, "" for none.
    """

    run: str = ""
    rows: int = 0
    other: str = ""


def recognised(content: bytes) -> Recognition:
    """What a file is. Raises `ExchangeError` for a damaged archive, and where that takes too long."""
    return Recognition(**json.loads(read_apart(_recognised, content)))


def parsed_apart(content: bytes, file_name: str, unit: FileUnit | None, wanted: str) -> ParsedFile:
    """As `parsing.read`. Raises `ExchangeError` where that takes too long."""
    options = {"file_name": file_name, "unit": unit and unit.value, "wanted": wanted}
    return unpack(read_apart(_parsed, content, seconds=READING_SECONDS, **options))


def _recognised(content: bytes) -> bytes:
    importer = importer_of_content(content)
    if isinstance(importer, RunArchives):
        glimpse = glimpse_of(content)
        recognition = Recognition(run=glimpse.name, rows=glimpse.rows)
    else:
        recognition = Recognition(other=importer.titles if importer else "")
    return json.dumps(asdict(recognition)).encode()


def _parsed(content: bytes, file_name: str, unit: str | None, wanted: str) -> bytes:
    return pack(read(content, file_name, FileUnit(unit) if unit else None, wanted))
