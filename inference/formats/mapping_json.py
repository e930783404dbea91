"""The product's own JSON for port mappings, in and out; see docs/formats.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from inference.core.hidden_uops import hidden_in, hidden_kinds
from inference.core.mapping import MOST_SLOTS, R_MAX_RANGE, PortMapping, ports_in
from inference.formats.document import Document, UsageEntry, check_name
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import as_list, as_number, as_object, as_ports, as_uops, printable_text
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Source

FORMAT_NAME = "pmweb-port-mapping"
VERSION = 1


def read_mapping_json(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read a port mapping with counted µops and slots, and its limits."""
    del unit  # a mapping holds no measurements
    data = source.data
    if data.get("version") != VERSION:
        problems.add(
            f"version {excerpt(data.get('version'))} of the format",
            f"version {VERSION} is expected",
            column="version",
        )
        return Document()
    ports = as_ports(data.get("ports"), problems, column="ports")
    usage = as_object(data.get("usage"), problems, row=None, column="usage")
    r_max, issue_width = _limits(data, problems)
    slots = as_object(data.get("slots", {}), problems, row=None, column="slots")
    if ports is None or usage is None or slots is None:
        return Document()
    if not usage:
        problems.add("the usage is empty", "at least one scheme is expected", column="usage")
    bits = {port: bit for bit, port in enumerate(ports)}
    usages = []
    for row, (name, uops) in enumerate(usage.items(), start=1):
        entry = _usage(row, name, uops, slots.get(name, 1), bits, problems)
        if entry is not None:
            usages.append(entry)
    for name in slots:
        if name not in usage:
            problems.add(f"slots of {excerpt(name)}", "a scheme that the usage lists", column="slots")
    facts = {key: said for key in ("isa", "name") if (said := printable_text(data.get(key)))}
    return Document(usages=tuple(usages), ports=ports, r_max=r_max, issue_width=issue_width, facts=facts)


def _limits(data: Mapping[str, Any], problems: Problems) -> tuple[float | None, float | None]:
    """Instructions and slots per cycle; files from before there were slots say `r_max` alone."""
    limits = as_object(data.get("limits", {}), problems, row=None, column="limits") or {}
    for what in limits.keys() - {"instructions", "slots"}:
        problems.add(f"a limit of {excerpt(what)}", "instructions, slots or both", column="limits")
    instructions = _rate(limits.get("instructions"), "instructions", "limits", problems)
    r_max = _rate(data.get("r_max"), "instructions", "r_max", problems)
    if None not in (instructions, r_max) and instructions != r_max:
        problems.add(
            f"R_max {r_max:g}, and a limit of {instructions:g} instructions",
            "the same number, or one of the two left out",
            column="limits",
        )
    slots = _rate(limits.get("slots"), "slots", "limits", problems)
    return (r_max if instructions is None else instructions), slots


def _rate(value: object, what: str, column: str, problems: Problems) -> float | None:
    if value is None:
        return None
    number = as_number(value, problems, row=None, column=column)
    low, high = R_MAX_RANGE
    if number is not None and not (math.isfinite(number) and low <= number <= high):
        problems.add(
            f"{number!r} cannot be {'R_max' if column == 'r_max' else 'a limit'}",
            f"{what} per cycle, from {low:g} to {high:g}, or null",
            column=column,
        )
        return None
    return number


def _usage(
    row: int, name: str, uops: object, slots: object, bits: dict[str, int], problems: Problems
) -> UsageEntry | None:
    scheme = check_name(name, problems, row=row, column="usage")
    listed = as_list(uops, problems, row=row, column="usage")
    if scheme is None or listed is None:
        return None
    pairs = []
    for item in listed:
        fields = as_object(item, problems, row=row, column="usage")
        if fields is not None:
            pairs.append((fields.get("ports"), fields.get("count")))
    read = as_uops(pairs, bits, problems, row=row, column="usage")
    if read is None or len(pairs) < len(listed):
        return None
    if isinstance(slots, bool) or not isinstance(slots, int) or not 1 <= slots <= MOST_SLOTS:
        problems.add(
            f"{excerpt(slots)} slots",
            f"a whole number from 1 to {MOST_SLOTS} is expected",
            row=row,
            column="slots",
        )
        return None
    return UsageEntry(row, "usage", scheme, read, slots)


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
        "usage": {
            scheme: [
                {"ports": [mapping.ports[bit] for bit in ports_in(mask)], "count": count}
                for mask, count in uops
            ]
            for scheme, uops in mapping.usage.items()
        },
        "slots": _slots(mapping),
        "hidden": _hidden(mapping),
    }


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
