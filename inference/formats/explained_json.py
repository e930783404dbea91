"""The JSON in which the results of explainable inference on Zen+ were published; see docs/formats.md.

A port mapping with the peak rate of instructions per cycle, and for each scheme its inverse throughput alone
and its number of µops. A scheme without port usage could not be characterised, and does not use no port.
"""

from __future__ import annotations

from inference.core.mapping import R_MAX_RANGE
from inference.formats.document import Document, UsageEntry, VerdictEntry
from inference.formats.json_fields import (
    as_amount,
    as_number_in,
    as_object,
    as_pairs,
    as_ports,
    as_uops,
    printable_text,
    rows_of,
)
from inference.formats.problems import FilePlace
from inference.formats.source import Source

RATE = "peakipc"
_RIGHT_RATE = f"instructions per cycle, {R_MAX_RANGE[0]:g} to {R_MAX_RANGE[1]:g}"


def read_explained(source: Source) -> Document:
    """Read verdicts on all schemes, and the port mapping of those that are characterised."""
    data, place = source.data, source.at("data")
    ports = as_ports(data.get("ports"), source.at("ports"))
    rows = as_object(data["data"], place)
    r_max = as_number_in(R_MAX_RANGE, data[RATE], source.at(RATE), "a rate", _RIGHT_RATE)
    if ports is None or rows is None:
        return Document()
    if not rows:
        place.add("the table is empty", "at least one scheme is expected")
    bits = {port: bit for bit, port in enumerate(ports)}
    entries = (_verdict(at, scheme, fields, bits) for at, scheme, fields in rows_of(rows, place))
    verdicts = tuple(entry for entry in entries if entry is not None)
    usages = tuple(
        UsageEntry(each.row, each.column, each.scheme, each.uops)
        for each in verdicts
        if each.uops is not None
    )
    if verdicts and not usages:
        source.at("data.portusage").add("no scheme has a port usage", "at least one is expected")
    name = printable_text(data.get("uarchname"))
    facts = {"instructions": len(rows), **({"arch": name, "name": name} if name else {})}
    return Document(usages=usages, verdicts=verdicts, partial=True, ports=ports, r_max=r_max, facts=facts)


def _verdict(
    place: FilePlace, scheme: str | None, value: object, bits: dict[str, int]
) -> VerdictEntry | None:
    before = place.problems.count
    fields = as_object(value, place)
    if scheme is None or fields is None:
        return None
    at = place.at("data.portusage")
    listed = fields.get("portusage")
    pairs = [] if listed is None else as_pairs(listed, at, "a kind of µop", "[[port, …], count]")
    uops = as_uops(pairs, bits, at)
    cycles, counted = (as_amount(fields.get(key), place.at(f"data.{key}")) for key in ("itp", "numuops"))
    if place.problems.count > before:
        return None
    return VerdictEntry(*place.start, scheme, uops or None, cycles, counted)
