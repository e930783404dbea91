"""The zip of a run: the same values make the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel

from inference.core.experiment import Measured
from inference.core.protocols import Json
from inference.formats.foreign_texts import clean_texts
from inference.formats.quoting import json_text
from inference.formats.run_archive.documents import (
    EVENTS,
    RUN,
    ArchivedMeasurement,
    RunManifest,
    mapping_file,
    resource_mapping_file,
    set_file,
)

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip can say: when it was written says nothing of the run


@dataclass(frozen=True)
class ArchivedFiles:
    """What stands beside the manifest, by the numbers that it has there; each is looked at once.

    `sets`: measurements, and the same as CSV for people; `mappings` and `resource_mappings` in our own JSON.
    """

    events: Iterable[Json]
    sets: Iterable[tuple[int, Iterable[Measured], str]]
    mappings: Iterable[tuple[int, str]]
    resource_mappings: Iterable[tuple[int, str]]


def write_zip(manifest: RunManifest, files: ArchivedFiles) -> bytes:
    """Everything about a run."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, RUN, [_pretty(manifest)])
        _add(archive, EVENTS, map(_line, files.events))
        for number, measured, table in files.sets:
            _add(archive, set_file(number), map(_row, measured))
            _add(archive, set_file(number).replace(".jsonl", ".csv"), [table])
        for number, text in files.mappings:
            _add(archive, mapping_file(number), [text])
        for number, text in files.resource_mappings:
            _add(archive, resource_mapping_file(number), [text])
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, parts: Iterable[str]) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    with archive.open(entry, "w", force_zip64=True) as file:
        for part in parts:
            file.write(part.encode())


def _pretty(document: BaseModel) -> str:
    return json_text(clean_texts(document.model_dump(mode="json")), indent=1) + "\n"


def _line(content: Json) -> str:
    return json_text(clean_texts(content)) + "\n"


def _row(value: Measured) -> str:
    row = ArchivedMeasurement(
        terms=dict(value.experiment.terms),
        cycles=value.cycles,
        state=value.state.value,
        spread=value.spread,
        passes=value.passes,
        note=value.note,
        annotations=dict(value.annotations),
        counters=dict(value.counters),
    )
    return _line(row.model_dump(exclude_defaults=True))
