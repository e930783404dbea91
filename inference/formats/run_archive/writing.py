"""Parts of the zip of a run as text."""

from __future__ import annotations

from pydantic import BaseModel

from inference.core.experiment import Measured
from inference.core.protocols import Json
from inference.formats.foreign_texts import clean_texts
from inference.formats.quoting import json_text
from inference.formats.run_archive.documents import ArchivedMeasurement


def write_document(document: BaseModel) -> bytes:
    return json_text(clean_texts(document.model_dump(mode="json")), indent=1).encode() + b"\n"


def write_line(content: Json) -> bytes:
    """A line of a file with many."""
    return json_text(clean_texts(content)).encode() + b"\n"


def write_measurement(value: Measured) -> bytes:
    """A measurement as a line, without what is as usual."""
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
    return write_line(row.model_dump(exclude_defaults=True))
