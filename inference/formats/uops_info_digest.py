"""What is kept of uops.info's `instructions.xml`: read as a port mapping, or as measurements.

One line per instruction: [row, scheme name, uops.info's name, extension, category, {microarchitecture:
[entries]}]; entries are as `inference.formats.uops_info_xml` makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inference.formats.document import (
    CYCLES_RANGE,
    ENTRY_LIMIT,
    NAME_LENGTH,
    Document,
    ExperimentEntry,
    partial_document,
)
from inference.formats.json_fields import printable_text
from inference.formats.source import Source
from inference.formats.uops_info_usages import SEVERAL, choose_one, is_usage, mapping_document, mapping_name
from inference.isa.scheme import Features

DIGEST = "uops.info instructions"
MEASURED = " measured"
"""What follows a microarchitecture where its measured inverse throughputs are meant, not its ports."""

NO_PORTS = "it was measured, but has no port usage"
NO_RATE = "it has no measured inverse throughput"
_NAME_LIMIT = 20


@dataclass(frozen=True, slots=True)
class _Entry:
    """One instruction as far as it was measured on the microarchitecture that is read."""

    row: int
    name: str
    title: str
    measured: list[Mapping[str, Any]]
    predicted: list[Mapping[str, Any]]


def reads_usages(source: Source) -> bool:
    """Whether ports are to be read of a file, which is the usual, not measurements."""
    return not source.wanted.endswith(MEASURED)


def read_digest(source: Source) -> Document:
    """The port mapping of the microarchitecture that `source.wanted` names."""
    begun = _begin(source, source.wanted)
    if begun is None:
        return Document(facts=_choices(source))
    wanted, entries, features = begun
    usages: dict[str, tuple[int, str]] = {}
    titles: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for entry in entries:
        texts = _usages(entry)
        text = texts.pop() if len(texts) == 1 else None
        if text is None:
            dropped[entry.title] = SEVERAL if texts else NO_PORTS
        elif entry.name not in usages:
            if not text or is_usage(text, source.at(wanted, entry.row)):
                usages[entry.name], titles[entry.name] = (entry.row, text), entry.title
        elif usages[entry.name][1] != text:
            dropped[entry.title] = f"{entry.name} has the µops of {titles[entry.name]}"
    if source.problems:
        return Document(facts=_choices(source))
    return mapping_document(usages, source.at(wanted), dropped, _choices(source), features)


def read_measured_digest(source: Source) -> Document:
    """The inverse throughputs that were measured on the microarchitecture that `source.wanted` names.

    Answers of IACA go along as annotations, µops as a counter, the latency as a note.
    """
    begun = _begin(source, source.wanted.removesuffix(MEASURED))
    if begun is None:
        return Document(facts=_choices(source))
    wanted, entries, features = begun
    experiments: dict[str, ExperimentEntry] = {}
    dropped: dict[str, str] = {}
    for entry in entries:
        rates = [each["t"] for each in entry.measured if _is_rate(each.get("t"))]
        if not rates:
            dropped[entry.title] = NO_RATE
        elif entry.name in experiments:
            dropped[entry.title] = f"{entry.name} was measured in another form before"
        else:
            experiments[entry.name] = _experiment(entry, wanted, min(rates))
    if not experiments:
        source.at(wanted).add(f"no measurement of {wanted}", "choose another microarchitecture")
    facts = {**_choices(source), "arch": wanted, "name": f"{mapping_name(wanted)}, measured"}
    document = partial_document(source.problems, facts, dropped, experiments=experiments.values())
    return replace(document, features=features)


def _begin(source: Source, wanted: str) -> tuple[str, list[_Entry], dict[str, Features]] | None:
    """(microarchitecture, its instructions, their features by name), or None after noting why not."""
    lines = source.data.get("instructions")
    if not isinstance(lines, list) or len(lines) > ENTRY_LIMIT or not all(map(_is_line, lines)):
        source.at().add("this digest is damaged", "upload instructions.xml of uops.info again")
        return None
    chosen = choose_one(source, wanted, _microarchitectures(source))
    if chosen is None:
        return None
    entries = list(_entries(lines, chosen))
    features = {line[1]: Features(printable_text(line[3]), printable_text(line[4])) for line in lines}
    return chosen, entries, {entry.name: features[entry.name] for entry in entries}


def _is_line(line: object) -> bool:
    kinds = (int, str, str, str, str, dict)
    if not isinstance(line, list) or list(map(type, line)) != list(kinds):
        return False
    named = 0 < len(line[1]) <= NAME_LENGTH and line[1].isprintable() and line[2].isprintable()
    return named and all(
        isinstance(found, list) and all(isinstance(each, dict) for each in found)
        for found in line[5].values()
    )


def _entries(lines: list[Any], wanted: str) -> Iterator[_Entry]:
    for row, name, title, _, _, by_name in lines:
        found = by_name.get(wanted, ())
        measured = [each for each in found if "iaca" not in each]
        if measured:
            yield _Entry(row, name, title or name, measured, [each for each in found if "iaca" in each])


def _microarchitectures(source: Source) -> list[str]:
    """Those that were measured, most instructions first."""
    counted: Counter[str] = Counter()
    lines = source.data.get("instructions")
    for line in lines if isinstance(lines, list) else ():
        if _is_line(line):
            counted.update(name for name, found in line[5].items() if any("iaca" not in e for e in found))
    return [name for name, _ in counted.most_common(100) if name.isprintable() and len(name) <= _NAME_LIMIT]


def _choices(source: Source) -> dict[str, Any]:
    known = _microarchitectures(source)
    return {"microarchitectures": [*known, *(name + MEASURED for name in known)]}


def _usages(entry: _Entry) -> set[str]:
    """The different port usages; an instruction that needs no µop uses no port."""
    said = {str(each["p"]) for each in entry.measured if "p" in each}
    return said or {"" for each in entry.measured if each.get("u") == 0}


def _is_rate(value: object) -> bool:
    low, high = CYCLES_RANGE
    return isinstance(value, float | int) and not isinstance(value, bool) and low <= value <= high


def _experiment(entry: _Entry, wanted: str, cycles: float) -> ExperimentEntry:
    paths = [each["l"] for each in entry.measured if isinstance(each.get("l"), list) and len(each["l"]) == 2]
    least = min((path[0] for path in paths), default=None)
    most = max((path[1] for path in paths), default=None)
    note = "" if least is None else f"latency {least:g}" + (f" to {most:g}" if most != least else "")
    uops = next((each["u"] for each in entry.measured if isinstance(each.get("u"), int)), None)
    predicted = {
        f"IACA {each['iaca']}".strip()[:40]: float(each["t"])
        for each in entry.predicted
        if _is_rate(each.get("t"))
    }
    return ExperimentEntry(
        entry.row,
        wanted,
        ((entry.name, 1),),
        float(cycles),
        note=note,
        annotations=predicted,
        counters={} if uops is None else {"uops": float(uops)},
    )
