"""Core models made of parts that are there, or of a document from elsewhere; and what vendors call their
ports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from inference.formats.errors import ExchangeError
from inference.formats.other_formats import Importer
from inference.models import ISA, LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import core_model_of
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


def ports_of(row: StoredCoreModel) -> Sequence[str]:
    """The ports of its mapping, () where it has none."""
    if row.document is not None:
        mapping = row.document["mapping"]
        return () if mapping is None else list(mapping["ports"])
    return () if row.mapping is None else list(row.mapping.ports)


def name_ports(row: StoredCoreModel, names: Mapping[str, str]) -> None:
    """Keep these names instead of those that there are. Raises `ExchangeError`, and changes nothing then."""
    given = {port: " ".join(name.split()) for port, name in names.items()}
    given = {port: name for port, name in given.items() if name}
    for port, name in given.items():
        if len(name) > PORT_NAME_LIMIT or not name.isprintable():
            raise ExchangeError(
                f"the name of port {port} is not a line of 1 to {PORT_NAME_LIMIT} letters: {name[:40]!r}"
            )
    try:
        check_port_names(given, ports_of(row))
    except InvalidInputError as error:
        raise ExchangeError(str(error)) from error
    row.port_names = {port: given[port] for port in ports_of(row) if port in given}
    row.save(update_fields=["port_names"])


@dataclass(frozen=True)
class ProposedNames:
    """Names that another core model of the same machine has, for the ports that do the same here."""

    source: StoredCoreModel
    names: Mapping[str, str]


def proposed_names(row: StoredCoreModel) -> ProposedNames | None:
    """Of the newest one with names; None where there is none, or where no port does the same."""
    if row.machine_id is None:
        return None
    named = StoredCoreModel.objects.filter(machine=row.machine_id).exclude(port_names={}).exclude(pk=row.pk)
    source = named.select_related("mapping", "latencies", "front_end").order_by("-pk").first()
    if source is None:
        return None
    here, there = core_model_of(row).mapping, core_model_of(source).mapping
    if here is None or there is None:
        return None
    names = _renamed(here, there, source.port_names)
    return ProposedNames(source, names) if names else None


def _renamed(here: MappingValue, there: MappingValue, names: Mapping[str, str]) -> dict[str, str]:
    """The names of ports over there, for those here that they agree with best."""
    partners = best_renaming(here, there).ports
    return {
        here.ports[partner]: names[port]
        for port, partner in zip(there.ports, partners, strict=True)
        if partner is not None and port in names
    }
