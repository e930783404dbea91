"""Recognises and parses uploaded files in separate processes with a time limit, for pages and API."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass

from inference.features.running.runs.archive import RunArchives
from inference.formats.file_numbers import FileUnit
from inference.formats.import_formats import ParsedFile, pack, read, unpack
from inference.formats.other_formats import importer_of_file
from inference.formats.run_archive_reading import archive_summary
from inference.web.reading_process import READING_SECONDS, read_isolated


@dataclass(frozen=True)
class Recognition:
    """The kind of a file. `run` and `rows`: name and number of measurements of a run's archive, "" and 0 for
    other files. `other`: formats of another app, "" for none.
    """

    run: str = ""
    rows: int = 0
    other: str = ""


def recognise(content: bytes) -> Recognition:
    """The kind of a file. Raises `ExchangeError` for a damaged archive, and after the time limit."""
    return Recognition(**json.loads(read_isolated(_recognise, content)))


def parse_isolated(content: bytes, file_name: str, unit: FileUnit | None, part: str) -> ParsedFile:
    """Like `import_formats.read`, in a separate process. Raises `ExchangeError` after the time limit."""
    options = {"file_name": file_name, "unit": unit and unit.value, "part": part}
    return unpack(read_isolated(_parse, content, seconds=READING_SECONDS, **options))


def _recognise(content: bytes) -> bytes:
    importer = importer_of_file(io.BytesIO(content))
    if isinstance(importer, RunArchives):
        glimpse = archive_summary(content)
        recognition = Recognition(run=glimpse.name, rows=glimpse.rows)
    else:
        recognition = Recognition(other=importer.titles if importer else "")
    return json.dumps(asdict(recognition)).encode()


def _parse(content: bytes, file_name: str, unit: str | None, part: str) -> bytes:
    return pack(read(content, file_name, FileUnit(unit) if unit else None, part))
