"""Making core models: of parts that are there, or of a document from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import transaction

from inference.core.protocols import Json
from inference.formats.core_model_json import CoreModelDocument, read_core_model
from inference.formats.other_formats import Importer
from inference.formats.problems import ExchangeError
from inference.models import ISA, LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.names import by_name, free_name, free_or_refuse


@transaction.atomic
def store_parts(
    name: str,
    mapping: PortMapping | None,
    latencies: LatencySet | None,
    front_end: MeasuredFrontEnd | None,
    note: str = "",
) -> StoredCoreModel:
    """A core model of parts of one instruction set. Raises `ExchangeError` where they do not go together."""
    parts = [part for part in (mapping, latencies, front_end) if part is not None]
    if not parts:
        raise ExchangeError("a core model has at least one of mapping, latencies and front end")
    sets = {part.isa for part in parts}
    if len(sets) > 1:
        raise ExchangeError(
            f"the parts are for {' and '.join(sorted(isa.name for isa in sets))}: choose parts for one "
            "instruction set"
        )
    measured = {part.machine for part in parts if part.machine is not None}
    free_or_refuse(StoredCoreModel, name)
    return StoredCoreModel.objects.create(
        name=name,
        note=note,
        isa=sets.pop(),
        machine=measured.pop() if len(measured) == 1 else None,
        mapping=mapping,
        latencies=latencies,
        front_end=front_end,
    )


@transaction.atomic
def store_document(told: CoreModelDocument, name: str, note: str = "") -> StoredCoreModel:
    """An imported core model, under a name like this that is free. Raises `ExchangeError`."""
    isa = by_name(ISA, told.isa)
    return StoredCoreModel.objects.create(
        name=free_name(StoredCoreModel, name or told.name or "core model"),
        note=note or told.note,
        isa=isa,
        document=told.model_dump(mode="json", exclude={"port_names", "scheduler"}),
        port_names=told.port_names,
        scheduler=None if told.scheduler is None else {"scheduler": told.scheduler.model_dump(mode="json")},
    )


def in_numbers(told: CoreModelDocument) -> Json:
    """What a document has, for a glance at it."""
    return {
        "name": told.name,
        "isa": told.isa,
        "ports": 0 if told.mapping is None else len(told.mapping.ports),
        "described": 0 if told.mapping is None else len(told.mapping.usage),
        "latencies": len(told.latencies),
        "front_end": told.front_end is not None,
        "sources": told.sources,
    }


class CoreModelFiles(Importer):
    """Documents of core models: whatever names their format is one."""

    titles = "core model (own JSON)"
    preview = "upload-core-model"

    def read(self, content: bytes, file_name: str, options: Json) -> Json:
        """What it has, and the document as it will be stored. Raises `ExchangeError`."""
        del file_name, options
        told = read_core_model(content)
        return {**in_numbers(told), "document": told.model_dump()}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """The core model. Raises `ExchangeError`."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error
        told = read_core_model(content)
        row = store_document(told, options["name"], options["note"])
        seen = in_numbers(told)
        schemes = f"{seen['described']} schemes with µops, {seen['latencies']} with latencies"
        return [f"core model {row.name!r}: {schemes}"]
