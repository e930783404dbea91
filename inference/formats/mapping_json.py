"""The product's own JSON for port and resource mappings, reading and writing, and CSV of port mappings.

See docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inference.core.mapping import MAX_SLOTS, PortMapping, Uops, described, hidden_in, hidden_kinds, ports_in
from inference.core.protocols import Json
from inference.core.resources import ResourceMapping
from inference.formats.document import Document, LoadEntry, UsageEntry
from inference.formats.exports import ExportedMapping
from inference.formats.json_fields import (
    as_count,
    as_list,
    as_loads,
    as_object,
    as_ports,
    as_rate,
    as_resources,
    as_uops,
    rows_of,
    texts_in,
)
from inference.formats.problems import FilePlace, excerpt
from inference.formats.quoting import csv_text
from inference.formats.source import Source

FORMAT_NAME = "pmweb-port-mapping"
RESOURCE_FORMAT = "pmweb-resource-mapping"
VERSION = 1  # of the format


def read_mapping_json(source: Source) -> Document:
    """Read a port mapping with its µops, issue slots and limits."""
    data = source.data
    if not source.has_version(VERSION):
        return Document()
    ports = as_ports(data.get("ports"), source.at("ports"))
    usage = as_object(data.get("usage"), source.at("usage"))
    r_max, issue_width = _limits(source)
    slots = as_object(data.get("slots", {}), source.at("slots"))
    if ports is None or usage is None or slots is None:
        return Document()
    if not usage:
        source.at("usage").add("the usage is empty", "at least one scheme is expected")
    bits = {port: bit for bit, port in enumerate(ports)}
    entries = (
        _usage(place, scheme, uops, slots.get(name, 1), bits)
        for name, (place, scheme, uops) in zip(usage, rows_of(usage, source.at("usage")), strict=True)
    )
    usages = tuple(entry for entry in entries if entry is not None)
    for name in sorted(slots.keys() - usage.keys()):
        source.at("slots").add(f"slots of {excerpt(name)}", "a scheme that the usage lists")
    facts = texts_in(data, "isa", "name")
    return Document(usages=usages, ports=ports, r_max=r_max, issue_width=issue_width, facts=facts)


def _limits(source: Source) -> tuple[float | None, float | None]:
    """(instructions, slots) per cycle. Files from before issue slots have `r_max` alone."""
    place = source.at("limits")
    limits = as_object(source.data.get("limits", {}), place) or {}
    for limit in limits.keys() - {"instructions", "slots"}:
        place.add(f"a limit of {excerpt(limit)}", "instructions, slots or both")
    instructions = as_rate(limits.get("instructions"), place, "a limit", "instructions")
    r_max = as_rate(source.data.get("r_max"), source.at("r_max"), "R_max", "instructions")
    if None not in (instructions, r_max) and instructions != r_max:
        fault = f"R_max {r_max:g}, and a limit of {instructions:g} instructions"
        place.add(fault, "the same number, or one of the two left out")
    slots = as_rate(limits.get("slots"), place, "a limit", "slots")
    return (r_max if instructions is None else instructions), slots


def _usage(
    place: FilePlace, scheme: str | None, uops: object, slots: object, bits: Mapping[str, int]
) -> UsageEntry | None:
    before = place.problems.count
    fields = [as_object(item, place) or {} for item in as_list(uops, place) or ()]
    if place.problems.count > before:
        return None
    read = as_uops([(kind.get("ports"), kind.get("count")) for kind in fields], bits, place)
    if scheme is None or read is None:
        return None
    number = as_count(slots, place.at("slots"), "slots", MAX_SLOTS)
    return None if number is None else UsageEntry(*place.start, scheme, read, number)


def write_mapping_json(
    mapping: PortMapping, *, name: str, isa: str, note: str = "", source: str = ""
) -> dict[str, Any]:
    """The mapping as a document of pmweb's own format; `read_mapping_json` reads it back unchanged.

    Args:
        mapping: The mapping.
        name: Its name; the default name of an import.
        isa: Name of its instruction set.
        note: Free text; "" for none.
        source: Where the mapping comes from; "" if unknown.
    """
    return {
        "format": FORMAT_NAME,
        "version": VERSION,
        "name": name,
        "isa": isa,
        "note": note,
        "source": source,
        "ports": list(mapping.ports),
        "r_max": mapping.r_max,
        "limits": mapping.limits,
        "usage": {scheme: uops_json(uops, mapping.ports) for scheme, uops in mapping.usage.items()},
        "slots": _slots(mapping),
        "hidden": _hidden(mapping),
    }


def uops_json(uops: Uops, ports: Sequence[str]) -> list[Json]:
    """[{"ports": names, "count": µops}, …], one per set of ports."""
    return [{"ports": [ports[bit] for bit in ports_in(mask)], "count": count} for mask, count in uops]


def _hidden(mapping: PortMapping) -> dict[str, str]:
    """{scheme: which of its µops no experiment can show}. Derived from the mapping; readers ignore it."""
    kinds = hidden_kinds(mapping)
    hidden_by_scheme = {scheme: hidden_in(mapping, scheme, kinds) for scheme in mapping.usage}
    return {scheme: str(hidden) for scheme, hidden in hidden_by_scheme.items() if hidden is not None}


def _slots(mapping: PortMapping) -> dict[str, int]:
    """{scheme: issue slots} of every scheme where there is an issue width, else only of those stored."""
    if mapping.issue_width is None:
        return dict(mapping.slots)
    return {scheme: mapping.slots_of(scheme) for scheme in mapping.usage}


HEADER = (
    "scheme",
    "µops",
    "number of µops",
    "slots",
    "cycles measured",
    "cycles by the mapping",
    "difference %",
    "witnesses",
    "µops counted",
    "doubts",
    "hidden",
)


def write_mapping_csv(mapping: ExportedMapping) -> str:
    """CSV with a row for every scheme, in the order of the instruction set."""
    return csv_text(HEADER, _rows(mapping), mapping.provenance.commented("#"))


def _rows(mapping: ExportedMapping) -> Iterator[list[object]]:
    """A row per scheme for the table: µops, measured and predicted cycles, evidence."""
    for scheme in mapping.schemes:
        evidence = scheme.evidence
        cycles = evidence.measured
        difference = 100 * (scheme.predicted - cycles) / cycles if cycles else None
        yield [
            scheme.text,
            described(scheme.uops, mapping.value.ports),
            scheme.count,
            None if mapping.value.issue_width is None else scheme.slots,
            evidence.measured,
            scheme.predicted,
            None if difference is None else round(difference, 4),
            evidence.witnesses,
            evidence.counted,
            "; ".join((*evidence.doubts, *evidence.conflicts)),
            "" if scheme.hidden is None else str(scheme.hidden),
        ]


def read_resource_json(source: Source) -> Document:
    """Read a resource mapping: cycles that each scheme occupies each resource."""
    if not source.has_version(VERSION):
        return Document()
    place = source.at("loads")
    resources = as_resources(source.data.get("resources"), source.at("resources"))
    listed = as_object(source.data.get("loads"), place)
    if resources is None or listed is None:
        return Document()
    if not listed:
        place.add("there are no loads", "at least one scheme is expected")
    indices = {name: index for index, name in enumerate(resources)}
    entries = []
    for at, scheme, loads in rows_of(listed, place):
        fields = as_object(loads, at)
        read = None if fields is None else as_loads(fields.items(), indices, at)
        if scheme is not None and read is not None:
            entries.append(LoadEntry(*at.start, scheme, read))
    return Document(loads=tuple(entries), resources=resources, facts=texts_in(source.data, "isa", "name"))


def write_resource_json(
    mapping: ResourceMapping, *, name: str, isa: str, note: str = "", source: str = ""
) -> dict[str, Any]:
    """The resource mapping as a document; `read_resource_json` reads it back unchanged.

    Args:
        mapping: Loads of all schemes.
        name: Name of the mapping.
        isa: Name of its instruction set.
        note: Note of the user, "" for none.
        source: Where the mapping is from, as a line of text.
    """
    return {
        "format": RESOURCE_FORMAT,
        "version": VERSION,
        "name": name,
        "isa": isa,
        "note": note,
        "source": source,
        "resources": list(mapping.resources),
        "loads": {
            scheme: {mapping.resources[index]: load for index, load in loads}
            for scheme, loads in mapping.loads.items()
        },
    }
