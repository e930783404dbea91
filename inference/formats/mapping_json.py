"""The product's own JSON for port mappings, in and out; see docs/formats.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inference.core.mapping import MOST_SLOTS, PortMapping, Uops, hidden_in, hidden_kinds, ports_in
from inference.core.protocols import Json
from inference.formats.document import Document, UsageEntry
from inference.formats.json_fields import (
    as_count,
    as_list,
    as_object,
    as_ports,
    as_rate,
    as_uops,
    rows_of,
    texts_in,
)
from inference.formats.problems import FilePlace, excerpt
from inference.formats.source import Source

FORMAT_NAME = "pmweb-port-mapping"
VERSION = 1


def read_mapping_json(source: Source) -> Document:
    """Read a port mapping with counted µops and slots, and its limits."""
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
    """Instructions and slots per cycle; files from before there were slots say `r_max` alone."""
    place = source.at("limits")
    limits = as_object(source.data.get("limits", {}), place) or {}
    for what in limits.keys() - {"instructions", "slots"}:
        place.add(f"a limit of {excerpt(what)}", "instructions, slots or both")
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
    read = as_uops([(each.get("ports"), each.get("count")) for each in fields], bits, place)
    if scheme is None or read is None:
        return None
    number = as_count(slots, place.at("slots"), "slots", MOST_SLOTS)
    return None if number is None else UsageEntry(*place.start, scheme, read, number)


def write_mapping_json(
    mapping: PortMapping, *, name: str, isa: str, note: str = "", source: str = ""
) -> dict[str, Any]:
    """The mapping as a document that `read_mapping_json` reads back unchanged."""
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
    """Each kind of µop with the names of its ports."""
    return [{"ports": [ports[bit] for bit in ports_in(mask)], "count": count} for mask, count in uops]


def _hidden(mapping: PortMapping) -> dict[str, str]:
    """Which µops no experiment can show, in words: it follows from the rest, and is not read."""
    kinds = hidden_kinds(mapping)
    found = {scheme: hidden_in(mapping, scheme, kinds) for scheme in mapping.usage}
    return {scheme: str(hidden) for scheme, hidden in found.items() if hidden is not None}


def _slots(mapping: PortMapping) -> dict[str, int]:
    """Of every scheme, where they count: without an issue width nothing is said of them."""
    if mapping.issue_width is None:
        return dict(mapping.slots)
    return {scheme: mapping.slots_of(scheme) for scheme in mapping.usage}
