"""The JSON table with the port usages that uops.info has of many microarchitectures; see docs/formats.md.

{scheme: [{"measurements": {"SKL": "1*p0156+1*p23", …}}, …]}. A file is read for one microarchitecture at a
time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inference.formats.document import ENTRY_LIMIT, Document, check_name
from inference.formats.json_fields import printable_text
from inference.formats.source import Source
from inference.formats.uops_info_usages import SEVERAL, choose_one, is_usage, mapping_document
from inference.isa.scheme import Features

MEASUREMENTS = "measurements"


def has_measurements(data: Any) -> bool:
    """Whether a document's first entry is a list with measurements by microarchitecture."""
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    return isinstance(first, list) and any(
        isinstance(each, dict) and isinstance(each.get(MEASUREMENTS), dict) for each in first
    )


def read_uops_info(source: Source) -> Document:
    """Read the port mapping of the microarchitecture that `source.wanted` names; it may be the only one."""
    if len(source.data) > ENTRY_LIMIT:
        source.at().add(f"{len(source.data)} schemes", f"at most {ENTRY_LIMIT} are read")
        return Document()
    known = _microarchitectures(source.data)
    facts: dict[str, Any] = {"microarchitectures": known}
    wanted = choose_one(source, source.wanted, known)
    if wanted is None:
        return Document(facts=facts)
    usages: dict[str, tuple[int, str]] = {}
    dropped: dict[str, str] = {}
    features = {}
    for row, (name, entries) in enumerate(source.data.items(), start=1):
        texts = {str(measured[wanted]) for measured in _measurements(entries) if wanted in measured}
        scheme = check_name(name, source.at("scheme", row)) if texts else None
        if scheme is None:
            continue
        if len(texts) > 1:
            dropped[scheme] = SEVERAL
        elif is_usage(text := texts.pop(), source.at(wanted, row)):
            usages[scheme] = row, text
            features[scheme] = _features(entries)
    return mapping_document(usages, source.at(wanted), dropped, facts, features)


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
