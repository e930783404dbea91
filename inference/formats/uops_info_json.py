"""The JSON table with the port usages that uops.info has of many microarchitectures; see docs/formats.md.

{scheme: [{"measurements": {"SKL": "1*p0156+1*p23", …}}, …]}. A file is read for one microarchitecture at a
time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inference.core.mapping import MAX_PORTS
from inference.formats.document import ENTRY_LIMIT, Document, UsageEntry, check_name
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import printable_text
from inference.formats.problems import Problems
from inference.formats.source import Source
from inference.formats.uops_info_usages import SEVERAL, choose_one, is_usage, mapping_name, ports_of, uops_in
from inference.isa.scheme import Features

MEASUREMENTS = "measurements"


def has_measurements(data: Any) -> bool:
    """Whether a document's first entry is a list with measurements by microarchitecture."""
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    return isinstance(first, list) and any(
        isinstance(each, dict) and isinstance(each.get(MEASUREMENTS), dict) for each in first
    )


def read_uops_info(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read the port mapping of the microarchitecture that `source.wanted` names; it may be the only one."""
    del unit  # a mapping holds no measurements
    if len(source.data) > ENTRY_LIMIT:
        problems.add(f"{len(source.data)} schemes", f"at most {ENTRY_LIMIT} are read")
        return Document()
    known = _microarchitectures(source.data)
    facts: dict[str, Any] = {"microarchitectures": known}
    wanted = choose_one(source.wanted, known, problems)
    if wanted is None:
        return Document(facts=facts)
    texts: dict[str, tuple[int, str]] = {}
    dropped: dict[str, str] = {}
    for row, (name, entries) in enumerate(source.data.items(), start=1):
        said = {str(measured[wanted]) for measured in _measurements(entries) if wanted in measured}
        if len(said) > 1 and check_name(name, problems, row=row, column="scheme") is not None:
            dropped[name] = SEVERAL
        for text in said if len(said) == 1 else ():
            if is_usage(text, row, wanted, problems):
                texts[name] = row, text
    ports = ports_of(text for _, text in texts.values())
    if not 1 <= len(ports) <= MAX_PORTS:
        problems.add(f"{len(ports)} ports", f"1 to {MAX_PORTS} are expected", column=wanted)
        return Document(facts=facts)
    bits = {port: bit for bit, port in enumerate(ports)}
    usages = []
    features = {}
    for name, (row, text) in texts.items():
        scheme = check_name(name, problems, row=row, column="scheme")
        if scheme is not None:
            usages.append(UsageEntry(row, wanted, scheme, uops_in(text, bits)))
            features[scheme] = _features(source.data[name])
    number = len(usages) + len(dropped)
    facts |= {"arch": wanted, "name": mapping_name(wanted), "instructions": number}
    return Document(
        usages=tuple(usages), partial=True, dropped=dropped, ports=ports, facts=facts, features=features
    )


def _features(entries: object) -> Features:
    """Extension and category, which all variants of a scheme have in common."""
    first = (
        next((each for each in entries if isinstance(each, dict)), {}) if isinstance(entries, list) else {}
    )
    told = (first.get("isa-set") or first.get("extension"), first.get("category"))
    return Features(*map(printable_text, told))


def _microarchitectures(data: Mapping[str, Any]) -> list[str]:
    """Those that the file has port usages of, most schemes first."""
    counted: Counter[str] = Counter()
    for entries in data.values():
        for measured in _measurements(entries):
            counted.update(key for key in measured if key.isprintable() and len(key) <= 20)
    return [key for key, _ in counted.most_common(100)]


def _measurements(entries: object) -> Iterator[Mapping[str, Any]]:
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, dict) and isinstance(each.get(MEASUREMENTS), dict):
            yield each[MEASUREMENTS]
