"""Recorded cores, read from the package's files without the database."""

from __future__ import annotations

import gzip
import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from pathlib import Path

from inference.formats.core_model_json import CoreModelDocument, core_model_text, read_core_model
from inference.isa.targets import DEFAULT
from inference.models import ISA, StoredCoreModel
from inference.storage.core_models import document_row

CORES = Path(__file__).parent / "cores"


@dataclass(frozen=True)
class RecordedCore:
    """A core of the gallery.

    Args:
        slug: The name of its files.
        name: The core model's name.
        core: The core, such as "Zen 4".
        processor: The computer on which it was recorded.
        recorded: The day of the measurements.
        measured: What was measured, and by what.
        accuracy: How well it predicts, with what it is compared.
        lacks: What is missing; "" for nothing that is known to be.
        isa: The instruction set.
    """

    slug: str
    name: str
    core: str
    processor: str
    recorded: date
    measured: str
    accuracy: str
    lacks: str = ""
    isa: str = DEFAULT

    @cached_property
    def document(self) -> CoreModelDocument:
        return read_core_model(gzip.decompress((CORES / f"{self.slug}.json.gz").read_bytes()))

    @cached_property
    def row(self) -> StoredCoreModel:
        """The unsaved row: it has no id and no machine."""
        return document_row(self.document, ISA(name=self.isa), self.name)

    @property
    def label(self) -> str:
        return f"{self.core}, as recorded"


@cache
def recorded_cores() -> tuple[RecordedCore, ...]:
    """All recorded cores, the newest recording first."""
    cores = [
        RecordedCore(slug=file.stem, **tomllib.loads(file.read_text(encoding="utf-8")))
        for file in sorted(CORES.glob("*.toml"))
    ]
    return tuple(sorted(cores, key=lambda core: core.recorded, reverse=True))


def recorded_core(name: str) -> RecordedCore | None:
    """The recorded core with this name of a core model."""
    return next((core for core in recorded_cores() if core.name == name), None)


def store_recording(core: RecordedCore, document: dict[str, object]) -> list[Path]:
    """Write both files of a core, replacing earlier ones; returns their paths."""
    facts = {
        "name": core.name,
        "core": core.core,
        "processor": core.processor,
        "recorded": core.recorded,
        "measured": core.measured,
        "accuracy": core.accuracy,
        "lacks": core.lacks,
        "isa": core.isa,
    }
    lines = [f"{key} = {_toml(value)}" for key, value in facts.items() if value]
    model, origin = CORES / f"{core.slug}.json.gz", CORES / f"{core.slug}.toml"
    # Without a time in its header the file is the same for the same core.
    model.write_bytes(gzip.compress(core_model_text(document).encode(), mtime=0))
    origin.write_text("\n".join(lines) + "\n", encoding="utf-8")
    recorded_cores.cache_clear()
    return [model, origin]


def _toml(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    escaped = re.sub(r'["\\]', lambda match: f"\\{match[0]}", str(value))
    return f'"{" ".join(escaped.split())}"'
