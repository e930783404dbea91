"""Stores port and resource mappings, loads them as values, and converts the former to the latter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from inference.core.evaluator import PortMappingModel, ThroughputModel
from inference.core.mapping import PortMapping, uops_of
from inference.core.resources import Conversion, ResourceMapping, from_port_mapping
from inference.models import ISA, Machine, ResourceLoad, Run
from inference.models import PortMapping as PortMappingRow
from inference.models import PortUsage as PortUsageRow
from inference.models import ResourceMapping as ResourceMappingRow
from inference.storage.names import check_name_free
from inference.storage.rows import BATCH, complete_ids, insert_rows, scheme_texts


@transaction.atomic
def store_mapping(
    name: str,
    isa: ISA,
    value: PortMapping,
    *,
    origin: PortMappingRow.Origin,
    source: str = "",
    machine: Machine | None = None,
    run: Run | None = None,
    report: Mapping[str, Any] | None = None,
    note: str = "",
) -> PortMappingRow:
    """Store a port mapping.

    Args:
        name: Name of the mapping.
        isa: Has all its schemes.
        value: The mapping.
        origin: How it came about.
        source: Where imported data are from, as a line of text.
        machine: Whose core it describes, None where unknown.
        run: Run that inferred it, None for an import.
        report: What its page shows beside it, as JSON.
        note: Note of the user.

    Raises:
        NameInUseError: Another mapping has the name.
        MissingSchemesError: The instruction set lacks schemes.
    """
    check_name_free(PortMappingRow, name)
    ids = complete_ids(isa, value.usage)
    row = PortMappingRow.objects.create(
        name=name,
        note=note,
        isa=isa,
        machine=machine,
        run=run,
        origin=origin,
        source=source,
        ports=list(value.ports),
        r_max=value.r_max,
        issue_width=value.issue_width,
        report=dict(report or {}),
        digest=value.digest,
    )
    PortUsageRow.objects.bulk_create(
        [
            PortUsageRow(
                mapping_id=row.pk,
                scheme_id=ids[scheme],
                mask=mask,
                count=count,
                slots=value.slots_of(scheme),
            )
            for scheme, uops in value.usage.items()
            for mask, count in (uops or ((0, 0),))
        ],
        batch_size=BATCH,
    )
    return row


def digest_of(row: PortMappingRow) -> str:
    """The mapping's `PortMapping.digest`; computed and stored at first use for older rows."""
    if not row.digest:
        row.digest = load_mapping(row).digest
        PortMappingRow.objects.filter(pk=row.pk).update(digest=row.digest)
    return row.digest


def load_mapping(row: PortMappingRow) -> PortMapping:
    """The port mapping as a value, schemes in the order of the instruction set."""
    usages = row.usages.order_by("scheme_id", "mask")
    return _value_of(row, usages.values_list("scheme__text", "mask", "count", "slots"))


def load_part(row: PortMappingRow, texts: Mapping[int, str]) -> PortMapping:
    """The part of a mapping about some schemes, {row id: text} (one query)."""
    usages = row.usages.filter(scheme__in=list(texts)).order_by("scheme_id", "mask")
    rows = usages.values_list("scheme_id", "mask", "count", "slots")
    return _value_of(row, ((texts[scheme], mask, count, slots) for scheme, mask, count, slots in rows))


def load_parts(isa: ISA | int, texts: Mapping[int, str]) -> list[tuple[PortMappingRow, PortMapping]]:
    """Like `load_part`, for all mappings of an instruction set with any of the schemes, newest first.

    Two queries; the rows are loaded without their reports.
    """
    usages = PortUsageRow.objects.filter(scheme__in=list(texts), mapping__isa=isa)
    usages_by_mapping: defaultdict[int, list[tuple[str, int, int, int]]] = defaultdict(list)
    columns = ("mapping_id", "scheme_id", "mask", "count", "slots")
    for mapping, scheme, *uop in usages.order_by("scheme_id", "mask").values_list(*columns):
        usages_by_mapping[mapping].append((texts[scheme], *uop))
    rows = PortMappingRow.objects.filter(pk__in=usages_by_mapping).defer("report").order_by("-id")
    return [(row, _value_of(row, usages_by_mapping[row.pk])) for row in rows]


def _value_of(row: PortMappingRow, usages: Iterable[tuple[str, int, int, int]]) -> PortMapping:
    """A mapping from (scheme, mask, count, slots); count 0 for a scheme without µops."""
    uops: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    slots: dict[str, int] = {}
    for scheme, mask, count, slot_count in usages:
        slots[scheme] = slot_count
        entry = uops[scheme]
        if count:
            entry.append((mask, count))
    return PortMapping(
        ports=tuple(row.ports),
        usage={scheme: uops_of(pairs) for scheme, pairs in uops.items()},
        r_max=row.r_max,
        issue_width=row.issue_width,
        slots=slots,
    )


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
    converted_from: PortMappingRow | None = None,
    report: Mapping[str, Any] | None = None,
    note: str = "",
) -> ResourceMappingRow:
    """Store a resource mapping.

    Args:
        name: Name of the mapping.
        isa: Has all its schemes.
        value: The mapping; a scheme without loads is stored as well.
        origin: How it came about.
        source: Where imported data are from, as a line of text; cut to `SOURCE_LENGTH`.
        machine: Whose core it describes, None where unknown.
        converted_from: The port mapping from which it was computed, None for others.
        report: What its page shows beside it, as JSON.
        note: Note of the user.

    Raises:
        NameInUseError: Another mapping has the name.
        MissingSchemesError: The instruction set lacks schemes.
    """
    check_name_free(ResourceMappingRow, name)
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
    row: PortMappingRow, name: str, settings: Conversion | None = None, note: str = ""
) -> ResourceMappingRow:
    """Convert a port mapping to a resource mapping with the same predictions, and store it.

    Args:
        row: The port mapping.
        name: Name of the resource mapping.
        settings: Limits of the conversion; None for the defaults.
        note: Note of the user.

    Raises:
        TooManyResourcesError: It would exceed the limits; nothing is stored then.
        NameInUseError: Another mapping has the name.
    """
    settings = settings or Conversion()
    check_name_free(ResourceMappingRow, name)
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


def load_model(row: PortMappingRow | ResourceMappingRow) -> ThroughputModel:
    """The throughput model of a row: a resource mapping's value, or a model of a port mapping."""
    if isinstance(row, ResourceMappingRow):
        return load_resource_mapping(row)
    return PortMappingModel(load_mapping(row))
