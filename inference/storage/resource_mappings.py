"""Between database rows and resource mappings, and from any row that predicts to its predictor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from inference.core.evaluator import PortMappingModel, ThroughputModel
from inference.core.resources import Conversion, ResourceMapping, from_port_mapping
from inference.models import ISA, Machine, PortMapping, ResourceLoad
from inference.models import ResourceMapping as ResourceMappingRow
from inference.storage.inserting import insert_rows
from inference.storage.names import free_or_refuse
from inference.storage.rows import complete_ids, load_mapping, scheme_texts

SOURCE_LENGTH = 300  # characters, as the column has it


@transaction.atomic
def store_resource_mapping(
    name: str,
    isa: ISA,
    value: ResourceMapping,
    *,
    origin: ResourceMappingRow.Origin,
    source: str = "",
    machine: Machine | None = None,
    converted_from: PortMapping | None = None,
    report: Mapping[str, Any] | None = None,
    note: str = "",
) -> ResourceMappingRow:
    """A new resource mapping under a free name; raises `NameTakenError` and `MissingSchemesError`."""
    free_or_refuse(ResourceMappingRow, name)
    ids = complete_ids(isa, value.loads)
    row = ResourceMappingRow.objects.create(
        name=name,
        note=note,
        isa=isa,
        machine=machine,
        converted_from=converted_from,
        origin=origin,
        source=source[:SOURCE_LENGTH],
        resources=list(value.resources),
        report=dict(report or {}),
    )
    rows = (
        (row.pk, ids[scheme], index, load)
        for scheme, loads in value.loads.items()
        for index, load in (loads or ((0, 0.0),))
    )
    insert_rows(ResourceLoad, ("mapping_id", "scheme_id", "resource", "load"), rows)
    return row


def load_resource_mapping(row: ResourceMappingRow) -> ResourceMapping:
    """The resource mapping as a value; schemes in the order of the instruction set."""
    texts = scheme_texts(row.isa)
    loads: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    rows = row.loads.order_by("scheme_id", "resource").values_list("scheme_id", "resource", "load")
    for scheme, resource, load in rows.iterator(chunk_size=10_000):
        entry = loads[texts[scheme]]
        if load:
            entry.append((resource, load))
    return ResourceMapping(tuple(row.resources), {scheme: tuple(entry) for scheme, entry in loads.items()})


def convert(
    row: PortMapping, name: str, settings: Conversion | None = None, note: str = ""
) -> ResourceMappingRow:
    """Store the resource mapping that predicts the same as a port mapping.

    Raises `TooManyResourcesError` and `NameTakenError`, and then nothing has been stored.
    """
    settings = settings or Conversion()
    free_or_refuse(ResourceMappingRow, name)
    return store_resource_mapping(
        name,
        row.isa,
        from_port_mapping(load_mapping(row), settings),
        origin=ResourceMappingRow.Origin.CONVERSION,
        source=f"port mapping {row.name}",
        machine=row.machine,
        converted_from=row,
        report={"max_resources": settings.max_resources},
        note=note,
    )


def load_model(row: PortMapping | ResourceMappingRow) -> ThroughputModel:
    """The throughput model of a row: the value of a resource mapping, or a model over a port mapping."""
    if isinstance(row, ResourceMappingRow):
        return load_resource_mapping(row)
    return PortMappingModel(load_mapping(row))
