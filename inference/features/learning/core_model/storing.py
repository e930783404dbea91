"""Stores core models, from existing parts or imported documents, and the vendor's names of their ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction

from inference.core.errors import InvalidInputError
from inference.core.identity import best_renaming
from inference.core.mapping import PortMapping as MappingValue
from inference.core.protocols import Json
from inference.formats.core_model_json import (
    PORT_NAME_LIMIT,
    CoreModelDocument,
    check_port_names,
    read_core_model,
)
from inference.formats.other_formats import Importer
from inference.formats.problems import ExchangeError
from inference.models import ISA, LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import core_model_of, document_row
from inference.storage.names import by_name, check_name_free, free_name


@transaction.atomic
def store_parts(
    name: str,
    mapping: PortMapping | None,
    latencies: LatencySet | None,
    front_end: MeasuredFrontEnd | None,
    note: str = "",
) -> StoredCoreModel:
    """Stores a core model of existing parts. Raises `ExchangeError` if they are of several instruction
    sets.
    """
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
    check_name_free(StoredCoreModel, name)
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
def store_document(core: CoreModelDocument, name: str, note: str = "") -> StoredCoreModel:
    """Stores an imported core model under a free name similar to `name`. Raises `ExchangeError`."""
    free = free_name(StoredCoreModel, name or core.name or "core model")
    row = document_row(core, by_name(ISA, core.isa), free, note)
    row.save()
    return row


def document_summary(document: CoreModelDocument) -> Json:
    """A summary of a document, for its preview."""
    return {
        "name": document.name,
        "isa": document.isa,
        "ports": 0 if document.mapping is None else len(document.mapping.ports),
        "described": 0 if document.mapping is None else len(document.mapping.usage),
        "latencies": len(document.latencies),
        "front_end": document.front_end is not None,
        "sources": document.sources,
    }


class CoreModelFiles(Importer):
    titles = "core model (own JSON)"
    preview = "upload-core-model"

    def read(self, file: BinaryIO, file_name: str, options: Json) -> Json:
        """The summary, and the document to store. Raises `ExchangeError`."""
        del file_name, options
        document = read_core_model(file.read())
        return {**document_summary(document), "document": document.model_dump()}

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """Imports the core model. Raises `ExchangeError`."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error
        document = read_core_model(content)
        row = store_document(document, options["name"], options["note"])
        summary = document_summary(document)
        schemes = f"{summary['described']} schemes with µops, {summary['latencies']} with latencies"
        return [f"core model {row.name!r}: {schemes}"]


def ports_of(row: StoredCoreModel) -> Sequence[str]:
    """The ports of the model's mapping, () without a mapping."""
    if row.document is not None:
        mapping = row.document["mapping"]
        return () if mapping is None else list(mapping["ports"])
    return () if row.mapping is None else list(row.mapping.ports)


def name_ports(row: StoredCoreModel, names: Mapping[str, str]) -> None:
    """Replaces the vendor's names. Raises `ExchangeError` for invalid or repeated ones, and then changes
    nothing.
    """
    cleaned_names = {port: " ".join(name.split()) for port, name in names.items()}
    cleaned_names = {port: name for port, name in cleaned_names.items() if name}
    for port, name in cleaned_names.items():
        if len(name) > PORT_NAME_LIMIT or not name.isprintable():
            raise ExchangeError(
                f"the name of port {port} is not a line of 1 to {PORT_NAME_LIMIT} letters: {name[:40]!r}"
            )
    try:
        check_port_names(cleaned_names, ports_of(row))
    except InvalidInputError as error:
        raise ExchangeError(str(error)) from error
    row.port_names = {port: cleaned_names[port] for port in ports_of(row) if port in cleaned_names}
    row.save(update_fields=["port_names"])


@dataclass(frozen=True)
class ProposedNames:
    """Names from another core model of the same machine, for ports with the same schemes."""

    source: StoredCoreModel
    names: Mapping[str, str]


def proposed_names(row: StoredCoreModel) -> ProposedNames | None:
    """The names of the newest model with any; None if there is none or no port matches."""
    if row.machine_id is None:
        return None
    named = StoredCoreModel.objects.filter(machine=row.machine_id).exclude(port_names={}).exclude(pk=row.pk)
    source = named.select_related("mapping", "latencies", "front_end").order_by("-pk").first()
    if source is None:
        return None
    here, there = core_model_of(row).mapping, core_model_of(source).mapping
    if here is None or there is None:
        return None
    names = _matched_names(here, there, source.port_names)
    return ProposedNames(source, names) if names else None


def _matched_names(here: MappingValue, there: MappingValue, names: Mapping[str, str]) -> dict[str, str]:
    """{port here: the name of its best match there}."""
    partners = best_renaming(here, there).ports
    return {
        here.ports[partner]: names[port]
        for port, partner in zip(there.ports, partners, strict=True)
        if partner is not None and port in names
    }
